package lint

import (
	"path"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// bareCommands finds commands that are denied or asked about without arguments alone.
func (p *pass) bareCommands() {
	becomes := map[ir.Decision]string{
		ir.Ask: "is asked about", ir.Allow: "is allowed", ir.Agent: "is left to the agent",
	}
	for _, s := range p.subjects() {
		lists(s, func(l list) {
			for _, r := range l.rules {
				bare := r.Pattern.Kind == ir.Plain && !strings.Contains(r.Pattern.Text, "*")
				if l.group != ir.Command || r.Decision >= ir.Allow || !bare || !written(r) {
					continue
				}
				more := r.Pattern.Text + " x"
				of := p.decide(s.ref, policy.Action{Group: ir.Command, Arg: more}).Decision
				if of > r.Decision {
					p.find(r.Pos, "%s %s holds this line alone: %q %s", r.Decision, r.Pattern, more, becomes[of]).
						Subject(s.name).
						Hintf("write %q, which matches the line without arguments too", r.Pattern.Text+" *")
				}
			}
		})
	}
}

// bareFolders finds allows of files that name a folder, and so nothing in it.
func (p *pass) bareFolders() {
	if p.IsFolder == nil {
		return
	}
	for _, s := range p.subjects() {
		lists(s, func(l list) {
			for _, r := range l.rules {
				name := strings.TrimPrefix(r.Pattern.Text, "/")
				of := l.group == ir.Read || l.group == ir.Edit
				bare := r.Pattern.Kind == ir.Plain && path.Clean(name) == name && !strings.ContainsAny(name, `*?[]{}\`)
				if of && bare && r.Decision == ir.Allow && written(r) && p.IsFolder(name) {
					p.find(r.Pos, "allow %s of %s is about a folder, and about no file in it", r.Pattern, l.group).
						Subject(s.name).
						Hintf("write %q for what is in it", r.Pattern.Text+"/")
				}
			}
		})
	}
}
