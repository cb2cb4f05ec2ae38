package shape

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/source"
)

// Check returns what can be used of a source's data, and reports at its place whatever
// does not fit the schema. The data itself stays as it is. ok is false where a whole
// section cannot be used.
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

func (c *checker) source(data *source.Node) (usable *source.Node, ok bool) {
	ok = true
	changed := map[string]*source.Node{}
	for _, f := range data.Fields {
		switch {
		case !slices.Contains(topLevel, f.Name):
			c.diags.Errorf(diag.UnknownField, f.Pos, "got unknown field %q, want one of %s", f.Name, diag.Quote(topLevel)).
				Path(f.Name).
				Hint(diag.DidYouMean(f.Name, topLevel))
		case f.Node.Kind != source.Struct:
			if ok = false; f.Node.Kind != source.Broken {
				c.diags.Errorf(diag.WrongType, f.Node.Pos, "got %s, want a struct", f.Node.Typed()).Path(f.Name)
			}
		default:
			changed[f.Name] = c.section(f)
		}
	}
	return data.With(changed, nil), ok
}

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
					"got %q beside %q, want names that differ in more than case", item.Name, other.Name).
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
	}
	return sec.Node.With(changed, nil)
}

func (c *checker) server(n *source.Node, at string) {
	c.transport(n, at)
	if tools := n.Get("tools"); tools != nil && tools.Kind == source.Struct {
		for _, t := range tools.Fields {
			c.name("tools", t, at+".tools."+diag.Label(t.Name))
		}
	}
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

func (c *checker) name(sec string, f source.Field, at string) {
	rule := nameRules[sec]
	switch {
	case !rule.re().MatchString(f.Name) || len([]rune(f.Name)) > 256 || sec == "roles" && strings.TrimSpace(f.Name) != f.Name:
		c.diags.Errorf(rule.code, f.Pos, "got %q, want %s", diag.Short(f.Name), rule.want).Path(at)
	case sec == "servers" && slices.Contains(ir.ReservedServers, f.Name):
		c.diags.Errorf(diag.BadName, f.Pos, "got %q, which can.mcp reserves, want another name", f.Name).Path(at)
	}
}

func (c *checker) transport(n *source.Node, at string) {
	command, url, typ := n.Get("command"), n.Get("url"), ""
	if t := n.Get("type"); t != nil {
		typ = t.Text
	}
	switch {
	case command == nil && url == nil && (n.Wrote("command") || n.Wrote("url")):
	case command == nil && url == nil && typ != ir.External:
		c.diags.Errorf(diag.MissingField, n.Pos, "got neither command nor url, want one of them").
			Path(at).
			Hint("`type: \"external\"` names a server that the user's own settings start")
	case command != nil && url != nil:
		c.diags.Errorf(diag.BadTransport, url.Pos, "got url beside command, want one of them").Path(at + ".url")
	case command != nil && typ != "" && typ != "stdio", url != nil && (typ == "stdio" || typ == ir.External):
		c.diags.Errorf(diag.BadTransport, n.Get("type").Pos, "got type %q, want one that fits: "+
			"stdio with command, http or sse with url, external without either", typ).
			Path(at + ".type")
	}
	misplaced, other := []string{"args", "env", "cwd"}, "command"
	if command != nil {
		misplaced, other = []string{"headers"}, "url"
	}
	for _, name := range misplaced {
		if x := n.Get(name); x != nil && ((command != nil) != (url != nil) || typ == ir.External) {
			c.diags.Errorf(diag.BadTransport, x.Pos, "got %s, want it only on a server with %s", name, other).
				Path(at + "." + name)
		}
	}
}
