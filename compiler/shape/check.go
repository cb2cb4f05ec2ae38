// Package shape checks the shape of a source: which fields there are, and of which types.
// [Check] reports at its place whatever does not fit the schema, and returns the data that
// does. [JSONSchema] writes the schema for editors.
//
// The schema is CUE. It is read into shapes once, because CUE reports an error for every
// branch of a failed disjunction and hides the errors beside it. A test compares the verdicts
// of both.
package shape

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/source"
)

// Check returns the part of a source's data that fits the schema, and reports the rest. It
// does not change the data. ok is false where a whole section cannot be used.
func Check(data *source.Node) (usable *source.Node, ok bool, diags diag.List) {
	all, err := loadShapes()
	if err != nil {
		diags.Errorf(diag.BadSchema, diag.Pos{}, "%v", err)
		return data, false, diags
	}
	c := checker{shapes: all}
	usable, ok = c.source(data)
	c.diags.Sort()
	return usable, ok, c.diags
}

type checker struct {
	shapes *shapes
	diags  diag.List
}

// source checks the sections.
func (c *checker) source(data *source.Node) (usable *source.Node, ok bool) {
	ok = true
	changed := map[string]*source.Node{}
	for _, f := range data.Fields {
		switch {
		case !slices.Contains(topLevel, f.Name):
			c.diags.Errorf(diag.UnknownField, f.Pos,
				"got unknown field %q, want one of %s", f.Name, diag.Quote(topLevel)).
				Path(f.Name).
				Hint(cmp.Or(c.below(f.Name), diag.DidYouMean(f.Name, topLevel)))
		case f.Node.Kind != source.Struct:
			if ok = false; f.Node.Kind != source.Broken {
				c.diags.Errorf(diag.WrongType, f.Node.Pos, "got %s, want a struct", f.Node.Typed()).Path(f.Name)
			}
		case f.Name == everyone:
			if changed[f.Name], _ = c.shapes.of[everyone].check(f.Node, everyone, &c.diags); hasNUL(f.Node) {
				c.withoutNUL(f.Node, everyone)
			}
		default:
			changed[f.Name] = c.section(f)
		}
	}
	return data.With(changed, nil), ok
}

// below says where a field belongs that stands at the top and is one of a server, mode, role or policy. It returns ""
// for another one.
func (c *checker) below(field string) string {
	var places []string
	for _, sec := range topLevel[1:] {
		if _, ok := c.shapes.of[sec].index[field]; ok {
			places = append(places, sec+": NAME: "+field)
		}
	}
	if places == nil {
		return ""
	}
	return "write it below a name: " + strings.Join(places, ", or ")
}

// section checks the servers, modes, roles or policies.
func (c *checker) section(sec source.Field) *source.Node {
	folded := map[string]source.Field{}
	changed := map[string]*source.Node{}
	for _, item := range sec.Node.Fields {
		at := sec.Name + "." + diag.Label(item.Name)
		c.name(sec.Name, item, at)
		if sec.Name != "policies" {
			key := strings.ToLower(item.Name)
			if other, ok := folded[key]; ok {
				c.diags.Errorf(diag.CaseCollision, item.Pos,
					"%q differs from %q only in case", item.Name, other.Name).
					Path(at).
					Related(other.Pos, "the other one")
			}
			folded[key] = item
		}
		usable, _ := c.shapes.of[sec.Name].check(item.Node, at, &c.diags)
		if usable.Kind != source.Struct {
			changed[item.Name] = &source.Node{Kind: source.Struct, Pos: item.Node.Pos} // its name still exists
			continue
		}
		if changed[item.Name] = usable; sec.Name == "servers" {
			c.server(usable, at)
		}
		c.environment(usable.Get("env"), diag.Join(at, "env"))
		if hasNUL(usable) { // which is seldom: the path of each text takes time
			c.withoutNUL(usable, at)
		}
	}
	return sec.Node.With(changed, nil)
}

// environment checks the names of variables: another one would be made of what has "=" in its name.
func (c *checker) environment(env *source.Node, at string) {
	if env == nil {
		return
	}
	for _, f := range env.Fields {
		if f.Name == "" || strings.ContainsFunc(f.Name, func(r rune) bool { return r == '=' || unicode.IsControl(r) }) {
			c.diags.Errorf(diag.BadName, f.Pos,
				"got the variable %q, want a name without \"=\" and control characters", diag.Short(f.Name)).
				Path(diag.Join(at, diag.Label(f.Name)))
		}
	}
}

func hasNUL(n *source.Node) bool {
	return n.Kind == source.String && strings.Contains(n.Text, "\x00") || slices.ContainsFunc(n.Elems, hasNUL) ||
		slices.ContainsFunc(n.Fields, func(f source.Field) bool { return hasNUL(f.Node) })
}

// withoutNUL reports texts that no program takes as an argument, and no file of an agent has.
func (c *checker) withoutNUL(n *source.Node, at string) {
	if n.Kind == source.String && strings.Contains(n.Text, "\x00") {
		c.diags.Errorf(diag.BadValue, n.Pos, "got a text with a NUL character; remove it").Path(at)
	}
	for _, f := range n.Fields {
		c.withoutNUL(f.Node, diag.Join(at, diag.Label(f.Name)))
	}
	for i, e := range n.Elems {
		c.withoutNUL(e, diag.Index(at, i))
	}
}

// server checks what the schema does not say of a server.
func (c *checker) server(n *source.Node, at string) {
	c.transport(n, at)
	if tools := n.Get("tools"); tools != nil && tools.Kind == source.Struct {
		for _, t := range tools.Fields {
			c.name("tools", t, at+".tools."+diag.Label(t.Name))
		}
	}
}

// everyone is the section that is one subject, and has no names.
const everyone = "everyone"

var topLevel = []string{everyone, "servers", "modes", "roles", "policies"}

// nameRules say which names are valid, by section.
var nameRules = map[string]nameRule{
	"modes": {
		re: lazy.Regexp(`^[a-zA-Z0-9-]+$`), code: diag.BadSlug,
		want: "letters, digits and dashes",
	},
	"roles": {
		re:   lazy.Regexp(`^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]{0,62}[^\s\x00-\x1f\x7f-\x9f])?$`),
		code: diag.BadName,
		want: "1 to 64 characters without white space around them and without control characters",
	},
	"policies": {
		re: lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`), code: diag.BadName,
		want: "1 to 64 letters, digits, dashes and underscores",
	},
	"servers": {
		re:   lazy.Regexp(`^[^:*\x00-\x1f\x7f-\x9f]{0,255}[^\s:*\x00-\x1f\x7f-\x9f][^:*\x00-\x1f\x7f-\x9f]{0,255}$`),
		code: diag.BadName,
		want: "1 to 256 characters, not only white space, without \":\", \"*\" and control characters",
	},
	"tools": {
		re: lazy.Regexp(`^[A-Za-z0-9_.-]{1,128}$`), code: diag.BadName,
		want: "1 to 128 letters, digits, \"_\", \".\" and \"-\"",
	},
}

type nameRule struct {
	re   func() *regexp.Regexp
	code diag.Code
	want string
}

// mostName is how many characters any name may have.
const mostName = 256

// name checks a name in a section.
func (c *checker) name(sec string, f source.Field, at string) {
	rule := nameRules[sec]
	valid := rule.re().MatchString(f.Name) && utf8.RuneCountInString(f.Name) <= mostName
	switch {
	case !valid, sec == "roles" && strings.TrimSpace(f.Name) != f.Name:
		c.diags.Errorf(rule.code, f.Pos, "got %q, want %s", diag.Short(f.Name), rule.want).Path(at)
	case sec == "servers" && slices.Contains(ir.ReservedServers, f.Name):
		c.diags.Errorf(diag.BadName, f.Pos, "can.mcp reserves the name %q; choose another one", f.Name).Path(at)
	}
}

// transport checks that a server is started or reached in one way.
func (c *checker) transport(n *source.Node, at string) {
	command, url, typ := n.Get("command"), n.Get("url"), ""
	if t := n.Get("type"); t != nil {
		typ = t.Text
	}
	switch {
	case command != nil && url != nil:
		c.diags.Errorf(diag.BadTransport, url.Pos, "the server has both a command and a url; keep one of them").
			Path(at + ".url")
	case command == nil && url == nil:
		if typ != ir.External && !n.Wrote("command") && !n.Wrote("url") {
			c.diags.Errorf(diag.MissingField, n.Pos, "the server has neither a command nor a url; give it one").
				Path(at).
				Hint("`type: \"external\"` names a server that the user's own settings start")
		}
	case !slices.Contains(typesOf(n), typ):
		c.diags.Errorf(diag.BadTransport, n.Get("type").Pos, "got type %q, want one that fits: "+
			"stdio with command, http or sse with url, external without either", typ).
			Path(at + ".type")
	}
	if (command != nil) != (url != nil) || typ == ir.External {
		c.misplaced(n, at)
	}
	if x := n.Get("entries"); x != nil && typ != ir.External {
		c.diags.Errorf(diag.BadTransport, x.Pos, "entries belongs only to a server of type external").
			Path(at + ".entries")
	}
}

// typesOf returns the types that a server with a command or a url may have; "" is none.
func typesOf(n *source.Node) []string {
	if n.Get("command") != nil {
		return []string{"", "stdio"}
	}
	return []string{"", "http", "sse"}
}

// misplaced reports fields that only servers of the other form have.
func (c *checker) misplaced(n *source.Node, at string) {
	names, other := []string{"args", "env", "cwd"}, "command"
	if n.Get("command") != nil {
		names, other = []string{"headers"}, "url"
	}
	for _, name := range names {
		if x := n.Get(name); x != nil {
			c.diags.Errorf(diag.BadTransport, x.Pos, "%s belongs only to a server with %s", name, other).
				Path(at + "." + name)
		}
	}
}
