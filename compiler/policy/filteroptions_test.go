package policy

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// filterValues are values that options of the filters take. All others take a number.
var filterValues = map[string]string{
	"grep -f": "a.txt", "grep --file": "a.txt", "--color": "always", "ls --sort": "size", "ls --time": "ctime",
	"nl -b": "a", "nl -f": "a", "nl -h": "a", "nl -n": "ln", "column -N": "a,b", "cut --output-delimiter": ":",
}

func filterValue(program, name string) string {
	if program == "egrep" || program == "fgrep" {
		program = "grep"
	}
	if v, ok := filterValues[program+" "+name]; ok {
		return v
	}
	if v, ok := filterValues[name]; ok {
		return v
	}
	return "1"
}

// installed returns the filters that are installed as the GNU project's programs, or those of
// util-linux, which say which option they do not know. Others are only looked at.
func (w *workshop) installed() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		path, err := exec.LookPath(name)
		switch {
		case err != nil:
			w.Logf("not run: %s is not installed", name)
		case !w.refuses(name):
			w.Logf("not run: %s (%s) does not say which option it does not know", name, path)
		default:
			names = append(names, name)
		}
	}
	return names
}

// refuses reports whether a program reads the marker behind some words as an option.
func (w *workshop) refuses(words ...string) bool {
	out := w.run(append(slices.Clone(words), marker)...)
	return strings.Contains(out, "unrecognized option '"+marker+"'")
}

// Every permitted option of the filters is one that the installed programs know, and takes a
// value from the next word exactly where the table says so.
func TestFilterOptions(t *testing.T) {
	w := newRepository(t)
	options := 0
	for _, program := range w.installed() {
		u := filters[program]
		options += len(u.options())
		for _, name := range some(u.flags) {
			if !w.refuses(program, name) {
				t.Errorf("%s %s is not a flag", program, name)
			}
		}
		for _, name := range some(u.values) {
			value := filterValue(program, name)
			if w.refuses(program, name) || !w.refuses(program, name, value) || !w.refuses(program, joined(name, value)) {
				t.Errorf("%s %s %s does not take a value", program, name, value)
			}
			for _, f := range some(u.flags) {
				if len(name) == 2 && len(f) == 2 && w.refuses(program, f+name[1:]) {
					t.Errorf("%s %s%s does not take a value", program, f, name[1:])
				}
			}
		}
		for _, name := range some(u.attached) {
			if word := joined(name, filterValue(program, name)); !w.refuses(program, word) {
				t.Errorf("%s %s does not take a value", program, word)
			}
		}
	}
	t.Logf("%d options of %d programs", options, len(filters))
}

// No permitted option of the filters changes a file or runs a program.
func TestFilterOptionsOnlyRead(t *testing.T) {
	w := newRepository(t)
	for _, program := range w.installed() {
		u := filters[program]
		operands := []string{"a.txt"}
		switch {
		case u.max == 0:
			operands = nil
		case u.max == 2:
			operands = []string{"a.txt", "sub/b.txt"}
		case program == "seq":
			operands = []string{"3"}
		case u.files == 1:
			operands = []string{"one", "a.txt"}
		}
		for _, f := range some(u.flags) {
			w.notes(append([]string{program, f}, operands...))
			w.notes(append(append([]string{program}, operands...), f))
		}
		for _, v := range some(u.values) {
			w.notes(append([]string{program, v, filterValue(program, v)}, operands...))
		}
		for _, v := range some(u.values + " " + u.attached) {
			w.notes(append([]string{program, joined(v, filterValue(program, v))}, operands...))
		}
		w.notes(append([]string{program}, operands...))
		w.unchanged()
	}
}
