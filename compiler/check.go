package compiler

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// check applies the schema to each server, mode, role and policy. It returns
// false where a whole section cannot be used.
func (r *resolver) check(data *node) bool {
	usable := true
	for _, f := range data.fields {
		if !slices.Contains(topLevel, f.name) {
			r.diags.Errorf(diag.UnknownField, f.pos, "got unknown field %q, want one of %s", f.name, diag.Quote(topLevel)).
				Path(f.name).
				Hint(diag.DidYouMean(f.name, topLevel))
			continue
		}
		if f.node.kind != structKind {
			if usable = false; f.node.kind != broken {
				r.diags.Errorf(diag.WrongType, f.node.pos, "got %s, want a struct", f.node.typed()).Path(f.name)
			}
			continue
		}
		folded := map[string]field{}
		for _, item := range f.node.fields {
			at := f.name + "." + label(item.name)
			r.checkName(f.name, item, at)
			if f.name != "policies" {
				key := strings.ToLower(item.name)
				if other, ok := folded[key]; ok {
					r.diags.Errorf(diag.CaseCollision, item.pos, "got %q beside %q, want names that differ in more than case", item.name, other.name).
						Path(at).
						Related(other.pos, "the other one")
				}
				folded[key] = item
			}
			r.shapes.of[f.name].check(item.node, at, &r.diags)
			if item.node.kind != structKind {
				*item.node = node{kind: structKind, pos: item.node.pos} // its name still exists
				continue
			}
			if f.name == "servers" {
				r.checkTransport(item, at)
				if tools := item.node.get("tools"); tools != nil && tools.kind == structKind {
					for _, t := range tools.fields {
						r.checkName("tools", t, at+".tools."+label(t.name))
					}
				}
			}
		}
	}
	return usable
}

var topLevel = []string{"servers", "modes", "roles", "policies"}

// nameRules say what a name may be, by section.
var nameRules = map[string]nameCheck{
	"modes":    nameRule(`^[a-zA-Z0-9-]+$`, diag.BadSlug, "letters, digits and dashes"),
	"roles":    nameRule(`^\S(.{0,62}\S)?$`, diag.BadName, "1 to 64 characters without white space around them"),
	"policies": nameRule(`^[a-zA-Z0-9_-]{1,64}$`, diag.BadName, "1 to 64 letters, digits, dashes and underscores"),
	"servers":  nameRule(`^[^:*]{0,255}[^\s:*][^:*]{0,255}$`, diag.BadName, "1 to 256 characters, not only white space, without \":\" and \"*\""),
	"tools":    nameRule(`^[A-Za-z0-9_.-]{1,128}$`, diag.BadName, "1 to 128 letters, digits, \"_\", \".\" and \"-\""),
}

type nameCheck struct {
	pattern string
	re      func() *regexp.Regexp // compiled when it is first asked
	code    diag.Code
	want    string
}

func nameRule(pattern string, code diag.Code, want string) nameCheck {
	return nameCheck{pattern, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) }), code, want}
}

var reservedServers = []string{"default", "allow", "ask", "deny", "resources", "prompts"}

func (r *resolver) checkName(sec string, f field, at string) {
	rule := nameRules[sec]
	switch {
	case !rule.re().MatchString(f.name) || len([]rune(f.name)) > 256 || sec == "roles" && strings.TrimSpace(f.name) != f.name:
		r.diags.Errorf(rule.code, f.pos, "got %q, want %s", short(f.name), rule.want).Path(at)
	case sec == "servers" && slices.Contains(reservedServers, f.name):
		r.diags.Errorf(diag.BadName, f.pos, "got %q, which can.mcp reserves, want another name", f.name).Path(at)
	}
}

func (r *resolver) checkTransport(f field, at string) {
	n := f.node
	command, url, typ := n.get("command"), n.get("url"), text(n.get("type"))
	switch {
	case command == nil && url == nil && (n.wrote("command") || n.wrote("url")):
	case command == nil && url == nil && typ != ir.External:
		r.diags.Errorf(diag.MissingField, n.pos, "got neither command nor url, want one of them").
			Path(at).
			Hint("`type: \"external\"` names a server that the user's own settings start")
	case command != nil && url != nil:
		r.diags.Errorf(diag.BadTransport, url.pos, "got url beside command, want one of them").Path(at + ".url")
	case command != nil && typ != "" && typ != "stdio", url != nil && (typ == "stdio" || typ == ir.External):
		r.diags.Errorf(diag.BadTransport, n.get("type").pos, "got type %q, want one that fits: stdio with command, http or sse with url, external without either", typ).
			Path(at + ".type")
	}
	for _, name := range map[bool][]string{true: {"headers"}, false: {"args", "env", "cwd"}}[command != nil] {
		if x := n.get(name); x != nil && ((command != nil) != (url != nil) || typ == ir.External) {
			r.diags.Errorf(diag.BadTransport, x.pos, "got %s, want it only on a server with %s", name, map[bool]string{true: "url", false: "command"}[command != nil]).
				Path(at + "." + name)
		}
	}
}
