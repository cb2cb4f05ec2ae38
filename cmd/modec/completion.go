package main

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/willabides/kongplete"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

type completionCmd struct {
	textOrJSON
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completionScripts has a script for each shell. It passes the line up to the cursor to `modec complete` as bash does,
// in COMP_LINE, and reads one candidate a line; where there is none it offers files.
var completionScripts = map[string]string{
	"bash": "complete -o filenames -o default -C 'modec -q complete 2>/dev/null' modec\n",
	"zsh": `#compdef modec
_modec() {
	local -a found
	found=("${(@f)$(COMP_LINE="${words[1,CURRENT]}" modec -q complete 2>/dev/null)}")
	found=("${(@)found:#}")
	if (( ${#found} )); then compadd -- "${found[@]}"; else _files; fi
}
if [ "${funcstack[1]}" = "_modec" ]; then _modec "$@"; else compdef _modec modec; fi
`,
	"fish": `function __modec_complete
	COMP_LINE=(commandline -cp | string collect) modec -q complete 2>/dev/null
end
complete -c modec -f -a '(__modec_complete)'
complete -c modec -n 'test -z (__modec_complete | string collect)' -F
`,
}

func (completionCmd) reports() []any { return []any{completionReport{}} }

// completionReport is the JSON of a completion script.
type completionReport struct {
	report.Envelope
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func (c *completionCmd) Run(e *env) error {
	script := completionScripts[c.Shell]
	if e.ui.JSON {
		return e.ui.Emit(completionReport{e.ui.Envelope(), c.Shell, script})
	}
	e.ui.Printf("%s", script)
	return nil
}

// completeCmd answers the scripts. No other command reads COMP_LINE: a hook decides whatever its environment says.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""` // bash adds the program and two words
}

func (c *completeCmd) Run(e *env, k *kong.Kong) error {
	words := strings.Fields(os.Getenv("COMP_LINE"))
	for i, w := range words {
		if dir, ok := strings.CutPrefix(w, "--dir="); ok {
			e.dir = e.abs(dir)
		} else if (w == "-C" || w == "--dir") && i+1 < len(words) {
			e.dir = e.abs(words[i+1])
		}
	}
	fixed := func(list []string) func() []string { return func() []string { return list } }
	values := map[string]func() []string{
		"action":   groupNames,
		"command":  func() []string { return programs(e.launchers()) },
		"mode":     e.subjectNames,
		"output":   func() []string { return slices.Collect(maps.Keys(reporters(k))) },
		"role":     e.subjectNames,
		"server":   e.serverNames,
		"subject":  e.subjectNames,
		"target":   fixed(contract.Names(e.targets)),
		"template": fixed(templateNames()),
		"topic":    fixed(topicNames()),
	}
	err := kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		switch n := node.(type) {
		case *kong.Node:
			if n.Type == kong.CommandNode && !slices.Contains(words, n.Name) {
				return nil // what it takes is not asked for
			}
		case *kong.Value:
			if list := values[n.Name]; list != nil && n.Enum == "" {
				n.Enum = diag.Clean(strings.Join(list(), ","))
			}
		}
		return next(nil)
	})
	if err != nil {
		return err
	}
	kongplete.Complete(k)
	return nil
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

// serverNames returns the servers of the project; none where it does not load.
func (e *env) serverNames() (names []string) {
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return nil
	}
	for i := range res.Project.Servers {
		names = append(names, res.Project.Servers[i].Name)
	}
	return names
}
