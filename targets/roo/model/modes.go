package model

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/roo/format"
)

// mode is a mode as the agent has it after loading.
type mode struct {
	groups map[string]group
	// servers is Zoo's allowedMcpServers; nil: all.
	servers      *located.Value
	restrictions restrictions
	at           diag.Pos // of the groups
}

// group is a group that a mode has.
type group struct {
	at    diag.Pos
	text  string      // as it stands in the file
	regex *expression // fileRegex of edit; nil: every path
}

// regex is an expression that the agent tests.
type regex struct {
	re   *ecma.Regexp // nil: it may match anything
	late atomic.Int32 // evaluations that took too long
}

// maxTime bounds one evaluation. Roo has no bound; an evaluation that takes longer here
// counts as a match, since it may become one there. An expression that is late maxLate
// times is not tried any more.
const (
	maxTime = 2 * time.Second
	maxLate = 3
)

// compiled returns an expression. It fails where `new RegExp` throws a SyntaxError.
func compiled(source string, o ecma.Options) (*regex, error) {
	o.Timeout = maxTime
	re, err := ecma.Compile(source, o)
	if err != nil {
		return nil, err
	}
	return &regex{re: re}, nil
}

// expression is a fileRegex. It is prepared when it is first tested: most subjects of a project did
// not change since they were last asked about.
type expression struct {
	text     string
	prepared func() *regex
}

// fileRegex returns the expression of a group. One that only Roo's engine takes may match anything.
func fileRegex(p *ecma.Pattern) *expression {
	return &expression{p.String(), sync.OnceValue(func() *regex { return prepared(p) })}
}

func prepared(p *ecma.Pattern) *regex {
	re, err := p.Compile(ecma.Options{Timeout: maxTime})
	if err != nil {
		return &regex{}
	}
	return &regex{re: re}
}

// test is RegExp.prototype.test.
func (r *regex) test(s string) bool {
	if r.re == nil || r.late.Load() >= maxLate {
		return true
	}
	ok, err := r.re.Match(s)
	if err != nil {
		r.late.Add(1)
	}
	return ok || err != nil
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

// architectEdits is the fileRegex of the built-in mode architect.
const architectEdits = `\.md$`

var architect = &expression{architectEdits, sync.OnceValue(func() *regex {
	re, err := compiled(architectEdits, ecma.Options{})
	if err != nil {
		panic(err)
	}
	return re
})}

// builtinModes returns the modes that the agent has by itself. They stay where
// a file does not name them (src/shared/modes.ts, getModeBySlug).
func builtinModes(dialect format.Dialect, file string) map[string]*mode {
	modes := map[string]*mode{}
	for slug, groups := range builtinGroups {
		m := &mode{groups: map[string]group{}, at: diag.Pos{File: file}}
		for _, name := range groups {
			m.groups[name] = group{at: m.at, text: "built-in mode " + slug + ": " + name}
		}
		if slug == "architect" {
			m.groups["edit"] = group{m.at, "built-in mode architect: edit " + architectEdits, architect}
		}
		if dialect == format.Zoo && (slug == "code" || slug == "debug") {
			m.groups["web"] = group{at: m.at, text: "built-in mode " + slug + ": web"}
		}
		modes[slug] = m
	}
	return modes
}

// openModes reads the modes that a session of the agent has. Of the files only
// the first that is there counts; where it does not load, none of its modes
// exists (CustomModesManager.loadModesFromFile).
func openModes(fsys fs.FS, dialect format.Dialect) (map[string]*mode, diag.List) {
	file, data, err := firstFile(fsys, dialect.Layout().Modes)
	modes := builtinModes(dialect, file)
	if err != nil {
		return modes, nil
	}
	var diags diag.List
	own, err := format.ReadModes(file, data, dialect)
	if err != nil {
		diags.Warnf(codeArtifact, diag.Pos{File: file}, "the agent loads no mode of this file: %s", err)
	}
	for _, m := range own {
		modes[m.Slug] = loaded(m)
	}
	return modes, diags
}

// loaded returns a mode of a file.
func loaded(m format.Mode) *mode {
	out := &mode{
		groups:       map[string]group{},
		servers:      m.Servers,
		restrictions: newRestrictions(m.Restrictions),
		at:           m.At,
	}
	for _, g := range m.Groups {
		one := group{at: g.At, text: "- " + g.Name}
		if g.Name == "edit" && g.FileRegex != nil { // in any other group it says nothing
			one = group{g.RegexAt, "fileRegex: " + g.FileRegex.String(), fileRegex(g.FileRegex)}
		}
		out.groups[g.Name] = one
	}
	return out
}
