package main

import (
	"cmp"
	"embed"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
)

type completionCmd struct {
	textOrJSON
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completionScripts has a script for each shell. They pass the words up to the cursor to
// `modec complete`, and read one candidate a line.
//
//go:embed completion
var completionScripts embed.FS

func (completionCmd) reports() []any { return []any{completionReport{}} }

// completionReport is the JSON of a completion script.
type completionReport struct {
	envelope
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func (c *completionCmd) Run(e *env) error {
	script, err := completionScripts.ReadFile("completion/modec." + c.Shell)
	if err != nil {
		return err
	}
	if e.ui.json {
		return e.ui.emit(completionReport{e.ui.envelope(), c.Shell, string(script)})
	}
	e.ui.printf("%s", script)
	return nil
}

// completeCmd answers the scripts.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c *completeCmd) Run(e *env, k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	for i, w := range words[:len(words)-1] {
		if dir, ok := strings.CutPrefix(w, "--dir="); ok {
			e.dir = e.abs(dir)
		} else if w == "-C" || w == "--dir" {
			e.dir = e.abs(words[i+1])
		}
	}
	line := completer{targets: contract.Names(e.targets), subjects: e.subjectNames, servers: e.serverNames,
		words: map[string][]string{
			"action":   groupNames(),
			"command":  programs(e.launchers()),
			"output":   slices.Collect(maps.Keys(reporters(k))),
			"template": templateNames(),
		}}
	var b strings.Builder
	for _, s := range line.complete(k.Model, words) {
		b.WriteString(diag.Clean(s) + "\n")
	}
	_, err := io.WriteString(e.ui.out, b.String())
	return err
}

func groupNames() (names []string) {
	for _, g := range ir.Decided {
		names = append(names, string(g))
	}
	return names
}

// subjectNames returns the modes and roles of the project; none where it does not load.
func (e *env) subjectNames() (names []string) {
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return nil
	}
	for _, ref := range res.Project.Subjects() {
		names = append(names, cmp.Or(ref.Role, ref.Mode))
	}
	return names
}

// serverNames returns the servers of the project and SERVER:TOOL for their tools, as modec inventory takes them.
func (e *env) serverNames() (names []string) {
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return nil
	}
	set, _ := e.pins() // without them the source alone has names
	for i := range res.Project.Servers {
		sv := &res.Project.Servers[i]
		names = append(names, sv.Name)
		for _, t := range sv.Tools {
			names = append(names, pins.ID(sv.Name, pins.Tools, t.Name))
		}
		if s := set.Server(sv.Name); s != nil {
			for tool := range s.Items[pins.Tools] {
				names = append(names, pins.ID(sv.Name, pins.Tools, tool))
			}
		}
	}
	return names
}

// completer knows the names that a project has.
type completer struct {
	targets  []string
	subjects func() []string     // asked only where one is wanted
	servers  func() []string     // the same
	words    map[string][]string // by the name of the flag or the argument
}

// typed describes the words before the last one of a command line.
type typed struct {
	node        *kong.Node
	flags       []*kong.Flag // that may follow
	positionals int
	waiting     *kong.Flag // the flag whose value comes next; nil: none
}

// complete returns the words that may stand in the place of the last one.
func (c completer) complete(app *kong.Application, words []string) []string {
	last := words[len(words)-1]
	all := slices.DeleteFunc(c.candidates(before(app, words[:len(words)-1]), last),
		func(s string) bool { return !strings.HasPrefix(s, last) })
	slices.Sort(all)
	return slices.Compact(all)
}

func before(app *kong.Application, words []string) typed {
	t := typed{node: app.Node, flags: app.Flags}
	for _, w := range words {
		switch {
		case t.waiting != nil:
			t.waiting = nil
		case strings.HasPrefix(w, "-"):
			if f := flagOf(t.flags, w); f != nil && !f.IsBool() && !strings.Contains(w, "=") {
				t.waiting = f
			}
		default:
			i := slices.IndexFunc(t.node.Children, func(n *kong.Node) bool {
				return n.Name == w || slices.Contains(n.Aliases, w)
			})
			if i < 0 {
				t.positionals++
				continue
			}
			t.node = t.node.Children[i]
			t.flags = append(t.flags, t.node.Flags...)
		}
	}
	return t
}

func (c completer) candidates(t typed, last string) (all []string) {
	name, _, joined := strings.Cut(last, "=")
	switch {
	case t.waiting != nil:
		return c.values(t.waiting.Value)
	case strings.HasPrefix(last, "-") && joined:
		if f := flagOf(t.flags, name); f != nil {
			for _, v := range c.values(f.Value) {
				all = append(all, name+"="+v)
			}
		}
		return all
	case strings.HasPrefix(last, "-"):
		for _, f := range t.flags {
			if !f.Hidden {
				all = append(all, "--"+f.Name)
			}
		}
		return all
	}
	for _, n := range t.node.Children {
		if !n.Hidden {
			all = append(all, n.Name)
		}
	}
	if t.positionals < len(t.node.Positional) {
		all = append(all, c.values(t.node.Positional[t.positionals])...)
	}
	return all
}

func flagOf(flags []*kong.Flag, word string) *kong.Flag {
	word, _, _ = strings.Cut(word, "=")
	for _, f := range flags {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// values returns what a flag or an argument takes, where that is a list.
func (c completer) values(v *kong.Value) []string {
	switch {
	case v.Enum != "":
		return v.EnumSlice()
	case v.Name == "target" || v.Name == "targets":
		return slices.Clone(c.targets)
	case v.Name == "topic":
		return topicNames()
	case v.Name == "subject" || v.Name == "role" || v.Name == "mode":
		return c.subjects()
	case v.Name == "server":
		return c.servers()
	}
	return slices.Clone(c.words[v.Name])
}
