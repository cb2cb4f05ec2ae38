package migrate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/policy"
)

// mostStays bounds how often an import is tried again with more that stays as it is.
const mostStays = 6

// stay imports anew what the first build would take out of the files that it takes over, or write in another
// way, although the source has it: a rule stays as it is written, for its agent alone, and the entry of a server
// stays where it is, as that of an external one. Rules that deny come first, since what they cover goes for
// their sake. It reports whether there is any.
func (in *imports) stay(req Request, res *Result) (changed bool) {
	if req.Args != nil { // a command line is no file
		return false
	}
	var gone []goneRule
	for _, out := range res.Compiled.Outputs {
		_, ownRules := out.Target.(contract.Dialect)
		for i := range out.Files {
			f := &out.Files[i]
			have, built := in.merged(req, res, f)
			if built == nil {
				continue
			}
			for _, place := range built.Taken {
				list, item := path.Split(place)
				var d ir.Decision
				if ownRules && d.UnmarshalText([]byte(path.Base(list))) == nil {
					gone = append(gone, goneRule{f.Path, out.Target.Name(), d, unescape(item)})
				}
			}
			for _, name := range otherEntries(f, have, built.Data, out.Target) {
				if in.external(f.Path, name, out.Target.Name()) {
					changed = true
				}
			}
		}
	}
	in.restate(req)
	for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
		for _, g := range gone {
			if g.decision == d && !in.contradicted(g) && in.verbatim(g) {
				changed = true
			}
		}
		if changed {
			break
		}
	}
	return changed
}

// merged returns a file to which people write too, as it is and as the first build leaves it; nil where it is none or
// the build refuses it, and says so.
func (in *imports) merged(req Request, res *Result, f *contract.File) (have []byte, built *jsonedit.Result) {
	have, err := contract.ReadImport(req.Root, f.Path)
	if f.Places == nil || err != nil || req.Args != nil || !slices.Contains(in.files, f.Path) {
		return nil, nil
	}
	p := output.PatternOf(f)
	owned := jsonedit.Adopt(have, p, res.Taken(f.Path))
	merged, err := jsonedit.Merge(have, f.Data, p, []jsonedit.Entries{owned}, false)
	if err != nil || len(merged.Conflicts) > 0 {
		return nil, nil
	}
	return have, &merged
}

// left returns the agents' files as the first build leaves them, with what people keep there beside it.
func (in *imports) left(req Request, res *Result) memfs.FS {
	tree := res.Compiled.FS()
	for _, out := range res.Compiled.Outputs {
		for i := range out.Files {
			if _, built := in.merged(req, res, &out.Files[i]); built != nil {
				tree[out.Files[i].Path] = built.Data
			}
		}
	}
	return tree
}

// goneRule is a rule of a file that a build takes out, although the source has it.
type goneRule struct {
	file     string // "": any
	target   string
	decision ir.Decision
	text     string
}

// unescape returns a token of a JSON pointer as it is written.
func unescape(token string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(token) }

// contradicted reports whether the file denies in the same words what a rule allows: lint tells of that.
func (in *imports) contradicted(g goneRule) bool {
	return g.decision == ir.Allow && slices.ContainsFunc(in.notes, func(n contract.Note) bool {
		return n.Pos.File == g.file && n.Rule && n.What == ir.Deny.String()+" "+g.text
	})
}

// verbatim leaves a rule that the source says in its own words to its agent, as it is written.
func (in *imports) verbatim(g goneRule) (changed bool) {
	for i := range in.notes {
		n := &in.notes[i]
		r := in.project.Role(strings.TrimPrefix(n.Subject, "role "))
		if g.file != "" && n.Pos.File != g.file || !n.Rule || n.Kind != contract.Understood ||
			n.What != g.decision.String()+" "+g.text || r == nil || r.PermissionMode == "dontAsk" {
			continue // which closes what can does not open
		}
		in.unsay(r, n.Pos)
		r.Native = append(r.Native,
			ir.NativeRule{Target: g.target, Decision: g.decision, Text: g.text, Pos: n.Pos, Own: true})
		n.Kind = contract.Kept
		n.Why = "it stays as it is written, for this agent alone: a build would write it in another way"
		if g.decision < ir.Allow && len(r.Targets) == 0 {
			r.Targets = []string{g.target}
			n.Why += ": role " + r.Name + " is for it alone"
		}
		changed = true
	}
	return changed
}

// unsay takes what a rule of a file became out of a role, and the tables that say nothing then.
func (in *imports) unsay(r *ir.Role, at diag.Pos) {
	can := &r.Can
	for _, g := range ir.Groups {
		for _, list := range listsOf(can, g) {
			*list = slices.DeleteFunc(slices.Clone(*list), func(x ir.Rule) bool { return x.Pos == at && x.From == "" })
		}
	}
	for _, g := range tables {
		t := g.of(can)
		if *t != nil && len((*t).Rules) == 0 && (*t).Default == nil && (*t).Description == "" {
			*t = nil
		}
	}
	if m := can.MCP; m != nil {
		m.Entries = slices.DeleteFunc(slices.Clone(m.Entries), func(e ir.MCPEntry) bool {
			return len(e.Rules) == 0 && e.Default == nil && e.Resources == nil && e.Prompts == nil
		})
		if len(m.Rules)+len(m.Entries) == 0 && m.Default == nil {
			can.MCP = nil
		}
	}
	if can.Unknown != nil && can.Unknown.Pos == at {
		can.Unknown = nil
	}
}

// otherEntries returns the names of the servers in a file whose entries a build would change or take out.
func otherEntries(f *contract.File, have, built []byte, t contract.Target) (names []string) {
	fields := contract.ListsOfServers([]contract.Target{t})
	if f.Strict {
		if _, err := located.JSON(f.Path, have); err != nil {
			return nil
		}
	}
	was, is := contract.ListedServers(f.Path, have, fields), contract.ListedServers(f.Path, built, fields)
	for _, m := range was.Fields() {
		if fmt.Sprint(m.Value.Any()) != fmt.Sprint(is.Get(m.Key).Any()) {
			names = append(names, m.Key)
		}
	}
	return names
}

// keeps reports whether a build leaves the entries of a server in some files as they are, where the source says how it
// is started.
func (e *editor) keeps(res *compiler.Result, s ir.Server, files []string) bool {
	if !sayable(s) {
		return false
	}
	p := *res.Project
	p.Servers = slices.Clone(p.Servers)
	for i := range p.Servers {
		if p.Servers[i].Name == s.Name {
			p.Servers[i] = s
		}
	}
	kept := map[string]bool{}
	for _, o := range res.Outputs {
		in := res.Input(o.Target)
		in.Policy = contract.View(o.Target, policy.New(&p))
		in.Project, in.Source = in.Policy.Project(), &p
		reach, err := contract.NewReach(in.Policy)
		if err != nil {
			return false
		}
		in.Reach = reach
		emitted, _ := o.Target.Emit(in)
		for i := range emitted {
			if f := &emitted[i]; slices.Contains(files, f.Path) {
				if !e.keepsEntry(f, o.Target, cmp.Or(s.As, s.Name)) {
					return false
				}
				kept[f.Path] = true
			}
		}
	}
	return len(kept) == len(files)
}

// keepsEntry reports whether a build that writes a file leaves a server's entry as it is.
func (e *editor) keepsEntry(f *contract.File, t contract.Target, name string) bool {
	have, err := contract.ReadImport(e.req.Root, f.Path)
	if err != nil {
		return false
	}
	of := output.PatternOf(f)
	owned := []jsonedit.Entries{jsonedit.Adopt(have, of, []string{name})}
	built, err := jsonedit.Merge(have, f.Data, of, owned, false)
	return err == nil && !slices.Contains(otherEntries(f, have, built.Data, t), name)
}

// sayable reports whether a source takes the texts of a server.
func sayable(s ir.Server) bool {
	named := func(name string) bool { return name != "" && !strings.ContainsFunc(name, isOdd) }
	for name, value := range s.Env {
		if !named(name) || strings.ContainsRune(value, 0) {
			return false
		}
	}
	return !strings.ContainsRune(s.Command+s.URL+s.Cwd+strings.Join(s.Args, ""), 0)
}

// isOdd reports whether no name of a variable has a character.
func isOdd(r rune) bool { return r == '=' || unicode.IsControl(r) }

// external makes a server of a file one whose entry stays as it is, whatever the source says of it.
func (in *imports) external(file, name, target string) bool {
	for i := range in.project.Servers {
		s := &in.project.Servers[i]
		there := s.Pos.File == file || slices.Contains(s.Targets, target) && slices.Contains(in.started[file], name)
		if cmp.Or(s.As, s.Name) != name || s.Type == ir.External || !there {
			continue
		}
		shape := contract.SourceRefs(s.Shape())
		entries := map[string]string{file: shape}
		for other, started := range in.started { // one definition for several agents
			shared := s.Pos.File == other || len(s.Targets) != 1 && slices.Contains(in.files, other)
			if shared && slices.Contains(started, name) {
				entries[other] = shape
			}
		}
		for other := range entries {
			in.started[other] = slices.DeleteFunc(in.started[other], func(s string) bool { return s == name })
		}
		in.notes = append(in.notes, contract.Note{Kind: contract.Kept, Pos: s.Pos, Subject: "server " + s.Name,
			What: s.Name, Why: "its entry stays as it is: a build would write it in another way, or not at all"})
		*s = ir.Server{Name: s.Name, Pos: s.Pos, Type: ir.External, Place: s.Place, DefaultEnabled: s.DefaultEnabled,
			Tools: s.Tools, Entries: entries}
		return true
	}
	return false
}
