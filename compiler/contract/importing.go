package contract

import (
	"maps"
	"slices"
	"strconv"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// Empty reports whether an import found nothing.
func (im *Imported) Empty() bool { return len(im.Files) == 0 && len(im.Notes) == 0 }

// ProjectOf returns a project of servers and modes, each by their names.
func ProjectOf(servers map[string]*ir.Server, modes map[string]ir.Mode) *ir.Project {
	p := &ir.Project{Version: ir.Version}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		p.Servers = append(p.Servers, *servers[name])
	}
	for _, slug := range slices.Sorted(maps.Keys(modes)) {
		p.Modes = append(p.Modes, modes[slug])
	}
	return p
}

// FoundServer returns a server that a file lists, of which nothing else is known yet.
func FoundServer(name string, at diag.Pos) *ir.Server {
	return &ir.Server{Name: name, Pos: at, DefaultEnabled: true, Tools: []ir.Tool{}}
}

// NamedServer returns a server of which only the name is known: its entry stays where it is.
func NamedServer(name string, at diag.Pos) *ir.Server {
	s := FoundServer(name, at)
	s.Type = ir.External
	return s
}

// Server adds the server of an entry to those of other entries, and returns it; nil where the source does not take it.
// start reads how it is started or reached, or returns why the source cannot say that.
func (im *Imported) Server(
	m located.Member, servers map[string]*ir.Server, start func(*located.Value, *ir.Server) (why string),
) *ir.Server {
	of := "server " + m.Key
	if old := servers[m.Key]; old != nil {
		im.Note(Refused, m.Pos, of, m.Key, "the one at "+old.Pos.String()+" counts")
		return nil
	}
	if !ServerName(m.Key) {
		im.NoteRule(Refused, m.Pos, of, m.Key, "the source cannot have a server of this name")
		return nil
	}
	s := FoundServer(m.Key, m.Pos)
	if why := start(m.Value, s); why != "" {
		s = NamedServer(m.Key, m.Pos)
		im.NoteRule(Refused, m.Pos, of, m.Key, why)
	}
	if m.Value.Comment != "" {
		im.Comments[m.Pos] = m.Value.Comment
	}
	servers[m.Key] = s
	return s
}

// Why a server's entry stays where it is.
const (
	NoStart        = "it has neither a command nor an http address: the server is known by its name alone"
	NoWholeSeconds = "its timeout is not in whole seconds"
)

// Seconds reads a time in milliseconds, 0 where there is none; false where it is not in whole seconds.
func Seconds(milliseconds *located.Value) (int, bool) {
	if milliseconds == nil {
		return 0, true
	}
	n, err := strconv.Atoi(milliseconds.Text)
	return n / 1000, err == nil && n > 0 && n%1000 == 0
}
