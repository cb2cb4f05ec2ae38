package lint

import (
	"path"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// bareCommands finds commands that are denied or asked about without arguments alone.
func (p *pass) bareCommands() {
	for _, s := range p.subjects() {
		t := s.can.Table(ir.Command)
		if t == nil {
			continue
		}
		for _, r := range t.Rules {
			bare := r.Pattern.Kind == ir.Plain && !strings.Contains(r.Pattern.Text, "*")
			if r.Decision >= ir.Allow || !bare || !written(r) {
				continue
			}
			more := r.Pattern.Text + " x"
			of := p.decide(s.ref, policy.Action{Group: ir.Command, Arg: more})
			if of.Decision <= r.Decision {
				continue
			}
			becomes := "is left to the agent"
			switch of.Decision {
			case ir.Ask:
				becomes = "is asked about"
			case ir.Allow:
				becomes = "is allowed"
			}
			p.find(r.Pos, "%s %s holds this line alone: %q %s", r.Decision, r.Pattern, more, becomes).
				Subject(s.name).
				Hintf("write %q, which matches the line without arguments too", r.Pattern.Text+" *")
		}
	}
}

// bareFolders finds allows of files that name a folder, and so nothing in it.
func (p *pass) bareFolders() {
	if p.IsFolder == nil {
		return
	}
	for _, s := range p.subjects() {
		for _, g := range []ir.Group{ir.Read, ir.Edit} {
			t := s.can.Table(g)
			if t == nil {
				continue
			}
			for _, r := range t.Rules {
				name := strings.TrimPrefix(r.Pattern.Text, "/")
				if r.Decision != ir.Allow || r.Pattern.Kind != ir.Plain || !written(r) || path.Clean(name) != name ||
					strings.ContainsAny(name, `*?[]{}\`) || !p.IsFolder(name) {
					continue
				}
				p.find(r.Pos, "allow %s of %s is about a folder, and about no file in it", r.Pattern, g).
					Subject(s.name).
					Hintf("write %q for what is in it", r.Pattern.Text+"/")
			}
		}
	}
}
