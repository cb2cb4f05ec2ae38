package format

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/located"
)

// decisive are the settings that decide what VS Code asks about.
var decisive = []string{EnableKey, TerminalKey, OldTerminalKey, DefaultsKey, ScriptsKey, EditsKey, LevelKey}

// Effective returns settings as VS Code reads them, each of those that decide anything under its whole name. To VS Code
// a name is a path: "chat.tools" may have an object with "edits" in it, and takes the place of what stands before.
func Effective(root *located.Value) *located.Value {
	tree := &located.Value{Kind: located.Object}
	for _, m := range root.Fields() {
		put(tree, strings.Split(m.Key, "."), m, root.Get(m.Key))
	}
	out := &located.Value{Kind: located.Object, Pos: root.Line()}
	for _, key := range decisive {
		v := tree
		for name := range strings.SplitSeq(key, ".") {
			v = v.Get(name)
		}
		if v != nil {
			out.Members = append(out.Members, located.Member{Key: key, Pos: v.Pos, Value: v})
		}
	}
	return out
}

// put sets what a path of names leads to, unless something else than an object stands on the way.
func put(in *located.Value, names []string, m located.Member, value *located.Value) {
	i := slices.IndexFunc(in.Members, func(old located.Member) bool { return old.Key == names[0] })
	if i < 0 {
		i = len(in.Members)
		in.Members = append(in.Members, located.Member{Key: names[0], Pos: m.Pos})
	}
	of := &in.Members[i]
	if len(names) == 1 {
		of.Pos, of.Value = m.Pos, value
		return
	}
	switch {
	case of.Value == nil:
		of.Value = &located.Value{Kind: located.Object, Pos: m.Pos}
	case !of.Value.Is(located.Object):
		return
	}
	next := *of.Value // what is read stays as it is
	next.Members = slices.Clone(next.Members)
	put(&next, names[1:], m, value)
	of.Value = &next
}
