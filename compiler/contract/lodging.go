package contract

import (
	"bytes"
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// Lodging is a target whose agent loads from the files of a project what a build does not write: agents, and what no
// import reads.
type Lodging interface {
	Target
	// Lodgers returns that. What the compiled files have is not among it.
	Lodgers(project, compiled fs.FS) []Lodger
}

// Joining is a Lodging whose agent reads what several files say of an agent of one name as one: what somebody's own
// says of one that a build wrote changes that one, and its model judges it so.
type Joining interface {
	Lodging
	// Joins reports whether a file is one of these.
	Joins(file string) bool
}

// Lodger is something of somebody's own in a project that an agent loads.
type Lodger struct {
	Kind string // one of the words of EntryWords
	Name string // of an agent the slug of its mode
	Of   string // what brings it ("agent free", "skill go"); "" where sessions have it by themselves
	// Entry is what the file says of it; nil where the whole file does.
	Entry *located.Value
	// When is the event at which a hook runs.
	When string
	// Quiet is set for a program that decides nothing: a comparison names it, and a check does not.
	Quiet bool
	// Listed is set for what [Runner] lists too: a comparison names it there.
	Listed bool
	// Starts is set for a setting that names a program, and for a server whose program an agent starts in every
	// session, whether or not it may call it.
	Starts bool
	// Instead is set for a server that takes the place of one that a build wrote.
	Instead bool
	At      diag.Pos
}

// AgentOf returns an agent as a lodger: by its slug, or by its name where that has none and so is no mode of a source.
func AgentOf(name string, at diag.Pos) Lodger {
	return Lodger{Kind: EntryAgent, Name: cmp.Or(Slug(name), name), At: at}
}

// The words with which an exception begins that names what somebody added.
const (
	EntryAgent   = "agent"
	EntryFile    = "file"
	EntryHook    = "hook"
	EntryPlugin  = "plugin"
	EntryServer  = "server"
	EntrySetting = "setting"
	EntryTool    = "tool"
)

// EntryWords are all of them, in order.
var EntryWords = []string{EntryAgent, EntryFile, EntryHook, EntryPlugin, EntryServer, EntrySetting, EntryTool}

// Loose is a setting by which an agent asks about less than by itself.
type Loose struct {
	Key    []string // its names, the outer ones first
	Values []string // those by which it does
	Others []string // those by which it does not; without either it does by true, and by what is not empty
	Off    bool     // it does by false
}

// has reports whether a setting is one by which an agent asks about less.
func (s Loose) has(v *located.Value) bool {
	text, is := v.Str()
	switch {
	case s.Off:
		return v.Is(located.Bool) && !v.True()
	case s.Others != nil:
		return is && !slices.Contains(s.Others, text)
	case s.Values != nil:
		return is && slices.Contains(s.Values, text)
	}
	return v.True() || len(v.List()) > 0 || len(v.Fields()) > 0
}

// Unasking returns those of some settings that a file has.
func Unasking(root *located.Value, settings ...Loose) (out []Lodger) {
	for _, s := range settings {
		v := root
		for _, name := range s.Key {
			v = v.Get(name)
		}
		if s.has(v) {
			out = append(out, Lodger{Kind: EntrySetting, Name: strings.Join(s.Key, "."), Entry: v, At: v.Pos})
		}
	}
	return out
}

// Subject returns that of an agent.
func (l *Lodger) Subject() ir.SubjectRef { return ir.SubjectRef{Mode: l.Name} }

// What names it as an exception does.
func (l *Lodger) What() string { return l.Kind + " " + l.Name }

// Named names it for people, with what brings it.
func (l *Lodger) Named() string {
	if l.Of == "" {
		return l.What()
	}
	return l.What() + " of the " + l.Of
}

// Runs reports whether it is a program, or a setting that names one, and no agent or server.
func (l *Lodger) Runs() bool {
	return l.Kind == EntryHook || l.Kind == EntryPlugin || l.Kind == EntryTool || l.Kind == EntrySetting && l.Starts
}

// Sum tells it from another one of its name: by its entry and the files of the project that its name leads to, or by
// its file.
func (l *Lodger) Sum(project fs.FS) string {
	if l.Entry == nil {
		data, _ := ReadImport(project, l.At.File) // one that cannot be read says nothing
		return SumOfProgram(project, data, "")
	}
	return SumOfProgram(project, JSONLine(l.Entry.Any()), l.Name)
}

// Hooks returns the programs that the hooks of a file start, by their events, in groups or one by one. At some events
// an agent takes what they answer.
func Hooks(hooks *located.Value, answered ...string) (list []Lodger) {
	add := func(event string, entry *located.Value) {
		list = append(list, Lodger{Kind: EntryHook, Name: lineOf(entry), Entry: entry, At: entry.Line(), When: event,
			Quiet: !slices.Contains(answered, event)})
	}
	for _, event := range hooks.Fields() {
		for _, item := range event.Value.List() {
			if group := item.Get("hooks"); group != nil {
				for _, entry := range group.List() {
					add(event.Key, entry)
				}
			} else if item.Is(located.Object) {
				add(event.Key, item)
			}
		}
	}
	return list
}

// lineOf returns the command line of a hook, or what else it consists of.
func lineOf(entry *located.Value) string {
	for _, key := range []string{"command", "bash", "powershell", "exec", "url"} {
		if text, ok := entry.Get(key).Str(); ok && text != "" {
			return strings.Join(append([]string{text}, entry.Get("args").Strings()...), " ")
		}
	}
	return string(JSONLine(entry.Any()))
}

// Added leaves out the lodgers that the compiled files have too: those of the same name, place and entry. Of a list
// each item is an entry, wherever it stands.
func Added(list, compiled []Lodger) []Lodger {
	same := func(a, b *located.Value) bool { return bytes.Equal(JSONLine(a.Any()), JSONLine(b.Any())) }
	return slices.DeleteFunc(list, func(l Lodger) bool {
		return slices.ContainsFunc(compiled, func(c Lodger) bool {
			if c.Kind != l.Kind || c.Name != l.Name || c.At.File != l.At.File || c.Of != l.Of {
				return false
			}
			return same(c.Entry, l.Entry) || len(l.Entry.List()) > 0 && !slices.ContainsFunc(l.Entry.List(),
				func(x *located.Value) bool {
					return !slices.ContainsFunc(c.Entry.List(), func(y *located.Value) bool { return same(x, y) })
				})
		})
	})
}

// AcceptsEntry reports whether an exception names what somebody added, whoever works with it.
func (in *Input) AcceptsEntry(what string) bool {
	return slices.ContainsFunc(in.Exceptions, func(x Exception) bool { return x.Entry == what })
}

// Displaced are the agents of somebody's own that have the name of one that a build wrote: an agent loads one of them,
// and which one depends on how their files are called.
func Displaced(t Target, p *ir.Project, project, compiled fs.FS) (list []Lodger) {
	lodging, ok := t.(Lodging)
	if !ok {
		return nil
	}
	for _, l := range lodging.Lodgers(project, compiled) {
		if l.Displaces(p) {
			list = append(list, l)
		}
	}
	return list
}

// Displaces reports whether a lodger is an agent with the name of a mode of a target's project.
func (l *Lodger) Displaces(p *ir.Project) bool {
	return l.Kind == EntryAgent && slices.ContainsFunc(p.Modes, func(m ir.Mode) bool { return m.Slug == l.Name })
}
