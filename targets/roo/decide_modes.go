package roo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// judgedMode is a mode as the agent has it after loading.
type judgedMode struct {
	groups map[string]judgedGroup
	// servers is Zoo's allowedMcpServers; nil: all.
	servers      *located.Value
	restrictions *judgedRestrictions // nil: none
	at           diag.Pos            // of the groups
}

// judgedGroup is a group that a mode has.
type judgedGroup struct {
	at    diag.Pos
	text  string       // as it stands in the file
	regex *judgedRegex // fileRegex of edit; nil: every path
}

// builtinGroups are the groups of DEFAULT_MODES in Roo 3.52.1
// (packages/types/src/mode.ts); Zoo 3.82.0 adds web to code and debug.
var builtinGroups = map[string][]string{
	"architect":    {"read", "edit", "mcp"},
	"code":         {"read", "edit", "command", "mcp"},
	"ask":          {"read", "mcp"},
	"debug":        {"read", "edit", "command", "mcp"},
	"orchestrator": {},
}

// builtinModes returns the modes that the agent has by itself. They stay where
// a file does not name them (src/shared/modes.ts, getModeBySlug).
func builtinModes(dialect, file string) map[string]*judgedMode {
	modes := map[string]*judgedMode{}
	for slug, groups := range builtinGroups {
		m := &judgedMode{groups: map[string]judgedGroup{}, at: diag.Pos{File: file}}
		for _, name := range groups {
			m.groups[name] = judgedGroup{at: m.at, text: "built-in mode " + slug + ": " + name}
		}
		if slug == "architect" {
			re, err := newJudgedRegex(`\.md$`, false)
			if err != nil {
				panic(err)
			}
			m.groups["edit"] = judgedGroup{at: m.at, text: `built-in mode architect: edit \.md$`, regex: re}
		}
		if dialect == zoo && (slug == "code" || slug == "debug") {
			m.groups["web"] = judgedGroup{at: m.at, text: "built-in mode " + slug + ": web"}
		}
		modes[slug] = m
	}
	return modes
}

// openModes reads the modes that a session of the agent has. Of the files only
// the first that is there counts; where it does not load, none of its modes
// exists (CustomModesManager.loadModesFromFile).
func openModes(fsys fs.FS, dialect string, names ...string) (map[string]*judgedMode, diag.List) {
	file := names[0]
	var data []byte
	var err error
	for _, name := range names {
		if data, err = fs.ReadFile(fsys, name); err == nil {
			file = name
			break
		}
	}
	modes := builtinModes(dialect, file)
	if err != nil {
		return modes, nil
	}
	var diags diag.List
	own, err := loadModes(file, data, dialect)
	if err != nil {
		diags.Warnf(codeArtifact, diag.Pos{File: file}, "got a file of which the agent loads no mode: %s", err)
	}
	for slug, m := range own {
		modes[slug] = m
	}
	return modes, diags
}

// loadModes reads a modes file: clean the raw text, read it as YAML, else the
// original as JSON; a file without customModes has none.
func loadModes(file string, data []byte, dialect string) (map[string]*judgedMode, error) {
	_, list, err := modeList(file, data)
	if err != nil {
		return nil, err
	}
	modes := map[string]*judgedMode{}
	for i, v := range list {
		slug, m, err := loadMode(v, dialect)
		if err != nil {
			return nil, within(err, v, fmt.Sprintf("customModes.%d", i))
		}
		if modes[slug] != nil {
			return nil, &schemaError{v.Pos, "customModes", "duplicate mode slugs are not allowed"}
		}
		modes[slug] = m
	}
	return modes, nil
}

// errNoModes is a file that loads and holds no list of modes: Roo takes it for
// one without modes and says nothing.
var errNoModes = errors.New("it has no customModes")

// modeList reads a modes file and the entries in it, unchecked.
func modeList(file string, data []byte) (root *located.Value, modes []*located.Value, err error) {
	root, err = readYAML(file, []byte(cleanedText(bytes.TrimPrefix(data, []byte("\uFEFF")))))
	if err != nil {
		if !json.Valid(data) {
			return nil, nil, err
		}
		if root, err = located.JSON(file, data); err != nil {
			return nil, nil, err
		}
	}
	list := root.Get("customModes")
	if !root.Is(located.Object) || falsy(list) {
		return nil, nil, errNoModes
	}
	if !list.Is(located.List) {
		return nil, nil, &schemaError{list.Pos, "customModes", "expected array, received " + string(list.Kind)}
	}
	return root, list.Items, nil
}

// schemaError is what the schema has against a file: where, in which field, and
// what, in the words of zod where it has any.
type schemaError struct {
	at   diag.Pos
	path string // customModes.0.groups.1
	what string
}

func (e *schemaError) Error() string {
	if e.path == "" {
		return fmt.Sprintf("%s: %s", e.at, e.what)
	}
	return fmt.Sprintf("%s: %s: %s", e.at, e.path, e.what)
}

// within puts a field before the path of an error.
func within(err error, v *located.Value, field string) error {
	var s *schemaError
	if !errors.As(err, &s) {
		return &schemaError{v.Line(), field, err.Error()}
	}
	if s.path != "" {
		field += "." + s.path
	}
	at := s.at
	if at.IsZero() {
		at = v.Line()
	}
	return &schemaError{at, field, s.what}
}

// falsy reports what JavaScript takes for false.
func falsy(v *located.Value) bool {
	return v == nil || v.Is(located.Null) || v.Is(located.Bool) && !v.True() || v.Is(located.String) && v.Text == "" || v.Is(located.Number) && strings.Trim(v.Text, "-+0.") == ""
}

// replacedRunes is the table by which Roo cleans the raw text
// (CustomModesManager.cleanInvisibleCharacters); the dashes become "-".
var replacedRunes = map[rune]string{0xA0: " ", 0x200B: "", 0x200C: "", 0x200D: "", 0x2018: "'", 0x2019: "'", 0x201C: `"`, 0x201D: `"`,
	0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2014: "-", 0x2015: "-", 0x2212: "-"}

func cleanedText(data []byte) string {
	var b strings.Builder
	for _, r := range string(data) {
		if s, ok := replacedRunes[r]; ok {
			b.WriteString(s)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// readYAML reads YAML as npm yaml 2 does: one document, and no key twice.
func readYAML(file string, data []byte) (*located.Value, error) {
	begun := false
	// Our parser folds no line that ends in CR LF, and a block at the end of a
	// file has its last line break whether or not it is written.
	lines := strings.Split(strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\r\n", "\n")+"\n", "\n")
	for i, line := range lines {
		if !begun && strings.HasPrefix(line, "%") {
			lines[i] = "#" + line[1:] // a directive, which our parser does not know
			continue
		}
		line = strings.TrimRight(line, " \t\r")
		mark := line == "---" || strings.HasPrefix(line, "--- ")
		if mark && begun {
			return nil, fmt.Errorf("%s:%d: source contains multiple documents", file, i+1)
		}
		begun = begun || mark || line != "" && line[0] != '#'
	}
	text := strings.Join(lines, "\n")
	tab := standIn(text)
	v, err := located.YAML(file, innerTab.ReplaceAllFunc([]byte(text), func(m []byte) []byte { return bytes.ReplaceAll(m, []byte("\t"), []byte(tab)) }))
	if err != nil {
		return nil, err
	}
	putBack(v, tab, map[*located.Value]bool{})
	return v, uniqueKeys(v, map[*located.Value]bool{})
}

// innerTab is what stands before a tab inside a word, and the tab: our parser
// drops it, and a key "gro\tups" would be groups.
var innerTab = regexp.MustCompile(`[^\s:,\-\[\]{}?"'](?:[ \t]*\t[ \t]*[^\s#])+`)

// standIn returns a noncharacter that a text has not, to stand for its inner
// tabs while it is read.
func standIn(text string) string {
	for r := '\uFDD0'; r < '\uFDEF'; r++ {
		if !strings.ContainsRune(text, r) {
			return string(r)
		}
	}
	return " "
}

// putBack writes tabs again where something stands for them.
func putBack(v *located.Value, tab string, seen map[*located.Value]bool) {
	if v == nil || seen[v] || tab == " " {
		return
	}
	seen[v] = true
	v.Text = strings.ReplaceAll(v.Text, tab, "\t")
	v.Comment = strings.ReplaceAll(v.Comment, tab, "\t")
	for i := range v.Members {
		v.Members[i].Key = strings.ReplaceAll(v.Members[i].Key, tab, "\t")
		putBack(v.Members[i].Value, tab, seen)
	}
	for _, item := range v.Items {
		putBack(item, tab, seen)
	}
}

// uniqueKeys fails on a key that an object has twice. An alias is the same value
// again, so that seen ends what would grow without bound.
func uniqueKeys(v *located.Value, seen map[*located.Value]bool) error {
	if v == nil || seen[v] {
		return nil
	}
	seen[v] = true
	keys := map[string]bool{}
	for _, m := range v.Members {
		if keys[m.Key] {
			return fmt.Errorf("%s: map keys must be unique", m.Pos)
		}
		keys[m.Key] = true
		if err := uniqueKeys(m.Value, seen); err != nil {
			return err
		}
	}
	for _, item := range v.Items {
		if err := uniqueKeys(item, seen); err != nil {
			return err
		}
	}
	return nil
}

// coreNumber is a number in YAML 1.2's core schema, and in JSON. What else the
// parser takes for one (1_000, 0b1) is a string to npm yaml.
var coreNumber = regexp.MustCompile(`^(?:[-+]?(?:[0-9]+|\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)

// schemaText returns a string as the schema sees it.
func schemaText(v *located.Value) (string, bool) {
	if v.Is(located.Number) && !coreNumber.MatchString(v.Text) {
		return v.Text, true
	}
	return v.Str()
}

// checkField fails on a field that is there and is not good.
func checkField(v *located.Value, good bool, field, what string) error {
	if v == nil || good {
		return nil
	}
	return &schemaError{v.Pos, field, what}
}

// missing is the message for a field that is not there at all.
func missing(v *located.Value, otherwise string) string {
	if v == nil {
		return "required"
	}
	return otherwise
}

var slugPattern = regexp.MustCompile(`^[a-zA-Z0-9-]+$`)

// loadMode is modeConfigSchema (packages/types/src/mode.ts): unknown keys are
// dropped, anything else that is wrong costs the whole file.
func loadMode(v *located.Value, dialect string) (string, *judgedMode, error) {
	if !v.Is(located.Object) {
		return "", nil, &schemaError{v.Line(), "", fmt.Sprintf("expected an object, received %s", v.Kind)}
	}
	slug, _ := schemaText(v.Get("slug"))
	if !slugPattern.MatchString(slug) {
		return "", nil, &schemaError{v.Get("slug").Line(), "slug", missing(v.Get("slug"), "slug must contain only letters numbers and dashes")}
	}
	for _, field := range []string{"name", "roleDefinition"} {
		if s, _ := schemaText(v.Get(field)); s == "" {
			return "", nil, &schemaError{v.Get(field).Line(), field, missing(v.Get(field), field+" is required")}
		}
	}
	for _, field := range []string{"whenToUse", "description", "customInstructions"} {
		_, ok := schemaText(v.Get(field))
		if err := checkField(v.Get(field), ok, field, field+" must be a string"); err != nil {
			return "", nil, err
		}
	}
	source, _ := schemaText(v.Get("source"))
	if err := checkField(v.Get("source"), source == "global" || source == "project" || dialect == kilo && source == "organization", "source", fmt.Sprintf("source must be global or project, received %q", source)); err != nil {
		return "", nil, err
	}
	m := &judgedMode{}
	var err error
	if m.groups, err = loadGroups(v.Get("groups"), dialect); err != nil {
		return "", nil, within(err, v.Get("groups"), "groups")
	}
	m.at = v.Get("groups").Line()
	switch list := v.Get("allowedMcpServers"); {
	case dialect == zoo && list != nil:
		if _, ok := stringList(list); !ok {
			return "", nil, &schemaError{list.Pos, "allowedMcpServers", "allowedMcpServers must be an array of strings"}
		}
		m.servers = list
	case dialect == restrictions && v.Get("mcpRestrictions") != nil:
		if m.restrictions, err = loadRestrictions(v.Get("mcpRestrictions")); err != nil {
			return "", nil, within(err, v.Get("mcpRestrictions"), "mcpRestrictions")
		}
	}
	return slug, m, nil
}

func stringList(v *located.Value) ([]string, bool) {
	if !v.Is(located.List) {
		return nil, false
	}
	out := make([]string, 0, len(v.Items))
	for _, item := range v.Items {
		s, ok := schemaText(item)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// loadGroups is groupEntryArraySchema: a name or a pair of a name and options.
func loadGroups(v *located.Value, dialect string) (map[string]judgedGroup, error) {
	if !v.Is(located.List) {
		return nil, &schemaError{v.Line(), "", missing(v, "groups must be an array")}
	}
	known := []string{"read", "edit", "command", "mcp", "modes"}
	switch dialect {
	case zoo:
		known = append(known, "web")
	case kilo:
		known = append(known, "browser")
	}
	groups := map[string]judgedGroup{}
	for i, entry := range v.Items {
		bad := func(at *located.Value, format string, args ...any) error {
			return &schemaError{at.Pos, strconv.Itoa(i), fmt.Sprintf(format, args...)}
		}
		first, options := entry, (*located.Value)(nil)
		if entry.Is(located.List) && len(entry.Items) > 0 {
			first = entry.Items[0]
		}
		name, _ := schemaText(first)
		if name == "browser" && dialect != kilo {
			continue // deprecatedToolGroups: dropped before anything is checked
		}
		if !slices.Contains(known, name) {
			return nil, bad(entry, "invalid group %q, expected one of %s", name, diag.Quote(known))
		}
		g := judgedGroup{at: entry.Pos, text: "- " + name}
		if entry.Is(located.List) {
			if len(entry.Items) != 2 || !entry.Items[1].Is(located.Object) {
				return nil, bad(entry, "a group is a name or a list of a name and one object of options, received a list of %d", len(entry.Items))
			}
			options = entry.Items[1]
		}
		if _, ok := groups[name]; ok {
			return nil, bad(entry, "duplicate groups are not allowed: %q", name)
		}
		_, ok := schemaText(options.Get("description"))
		if err := checkField(options.Get("description"), ok, "", "description must be a string"); err != nil {
			return nil, within(err, entry, strconv.Itoa(i)+".1.description")
		}
		source, ok := schemaText(options.Get("fileRegex"))
		if err := checkField(options.Get("fileRegex"), ok, "", "fileRegex must be a string"); err != nil {
			return nil, within(err, entry, strconv.Itoa(i)+".1.fileRegex")
		}
		if source != "" {
			re, err := newJudgedRegex(source, false)
			if err != nil {
				return nil, &schemaError{options.Get("fileRegex").Pos, strconv.Itoa(i) + ".1.fileRegex", fmt.Sprintf("invalid regular expression pattern: %v", err)}
			}
			if name == "edit" { // in any other group it says nothing
				g = judgedGroup{at: options.Get("fileRegex").Pos, text: "fileRegex: " + source, regex: re}
			}
		}
		groups[name] = g
	}
	return groups, nil
}
