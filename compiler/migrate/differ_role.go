package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

func (d *differ) role(a, b *ir.Role) {
	name, at := "role "+b.Name, []string{"roles", b.Name}
	if fingerprint(*a) == fingerprint(*b) {
		return
	}
	if d.source.Role(b.Name) == nil {
		d.cannot(b.Pos, "what "+b.Pos.File+" permits", "no role of the source stands for it: "+
			"name one as baseline in modec.toml")
		return
	}
	d.home = b.Pos.File
	first := len(d.out)
	defer func() {
		for i := range d.out[first:] {
			if c := &d.out[first+i]; c.subject == "" {
				c.subject, c.home, c.beside = name, d.home, true
			}
		}
	}()
	if a.PermissionMode != b.PermissionMode {
		d.field(name, b.PermissionModePos, append(at, "permissionMode"), text(b.PermissionMode), b.PermissionMode == "")
		d.out[len(d.out)-1].mode = true
	}
	for _, k := range slices.Sorted(maps.Keys(both(a.Env, b.Env))) {
		is, ok := b.Env[k]
		if was, before := a.Env[k]; was != is || before != ok {
			d.field(name, b.Pos, append(slices.Clip(at), "env", k), text(is), !ok)
		}
	}
	d.can(name, at, &a.Can, &b.Can)
	d.own(name, at, ir.SubjectRef{Role: b.Name}, b.Pos, [2][]ir.NativeRule{a.Native, b.Native}, a.Extra, b.Extra)
	rest(d, name, b.Pos, a, b, func(r *ir.Role) {
		r.Can, r.Extra, r.Native, r.Env, r.Place, r.PermissionMode = ir.Can{}, nil, nil, nil, ir.Place{}, ""
	})
}

// both returns the keys of two maps.
func both[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, b)
	return out
}

// rest names a difference that nothing else says.
func rest[T any](d *differ, name string, at diag.Pos, a, b *T, forget func(*T)) {
	x, y := *a, *b
	forget(&x)
	forget(&y)
	if fingerprint(x) != fingerprint(y) {
		d.cannot(at, name+" is changed in another way", "change the source itself")
	}
}

// own compares what a subject says for one agent alone: rules in its own grammar, and fields.
func (d *differ) own(
	name string, at []string, ref ir.SubjectRef, pos diag.Pos, rules [2][]ir.NativeRule, a, b map[string]ir.Extra,
) {
	first := len(d.out)
	d.native(name, at, ref, rules[0], rules[1])
	d.extra(name, at, pos, d.withoutOrder(first, rules[0], a), d.withoutOrder(first, rules[1], b))
}

// native compares the rules in an agent's own grammar.
func (d *differ) native(name string, at []string, ref ir.SubjectRef, a, b []ir.NativeRule) {
	list := func(r ir.NativeRule) []string {
		if r.Own {
			return append(slices.Clip(at), ownList(r)...)
		}
		return append(slices.Clip(at), ruleField(d.dialects, r))
	}
	d.natives(name, at, ref, a, b, func(r ir.NativeRule, added bool) {
		if added {
			d.change(r.Pos, fmt.Sprintf("%s: %s %s is added", name, r.Decision, r.Text), func(p *patcher) error {
				return p.add(list(r), text(r.Text))
			})
			return
		}
		d.change(diag.Pos{File: r.Pos.File}, fmt.Sprintf("%s: %s %s is taken out", name, r.Decision, r.Text),
			func(p *patcher) error { return p.drop(list(r), text(r.Text)) })
	})
}

// extra compares what only one agent understands.
func (d *differ) extra(name string, at []string, pos diag.Pos, a, b map[string]ir.Extra) {
	for _, target := range slices.Sorted(maps.Keys(both(a, b))) {
		was, is := a[target].Fields, b[target].Fields
		for _, k := range slices.Sorted(maps.Keys(both(was, is))) {
			if v, ok := is[k]; !reflect.DeepEqual(was[k], v) {
				raw := &value{raw: string(contract.JSONLine(v))}
				d.field(name, pos, append(slices.Clip(at), "agents", target, "settings", k), raw, !ok)
			}
		}
	}
}

// can compares what a subject may do.
func (d *differ) can(name string, at []string, a, b *ir.Can) {
	own := func(r ir.Rule) bool { return r.DeniesAll() && r.From == "" }
	for _, g := range ir.Groups {
		if g == ir.MCP {
			continue
		}
		x, y := cmp.Or(a.Table(g), &ir.Table{}), cmp.Or(b.Table(g), &ir.Table{})
		all := "*"
		if g == ir.Read || g == ir.Edit {
			all = "**"
		}
		if i := slices.IndexFunc(y.Rules, own); i >= 0 && !slices.ContainsFunc(x.Rules, own) {
			path := append(slices.Clip(at), "can", string(g))
			d.decides(name, "", y.Rules[i].Pos, string(g)+" says deny", func(p *patcher) error {
				return p.set(path, text("deny"))
			})
			continue
		}
		d.rules(name, at, []string{string(g)}, all, x.Rules, y.Rules)
		d.word(name, at, []string{string(g)}, decided(x.Rules, x.Default), decided(y.Rules, y.Default))
	}
	for _, f := range []struct {
		path []string
		a, b *ir.Default
	}{
		{[]string{"default"}, a.Default, b.Default},
		{[]string{"unknown"}, a.Unknown, b.Unknown},
		{[]string{"outside", "read"}, a.OutsideRead, b.OutsideRead},
		{[]string{"outside", "edit"}, a.OutsideEdit, b.OutsideEdit},
	} {
		d.word(name, at, f.path, f.a, f.b)
	}
	x, y := cmp.Or(a.MCP, &ir.MCPTable{}), cmp.Or(b.MCP, &ir.MCPTable{})
	d.word(name, at, []string{"mcp"}, decided(x.Rules, x.Default), decided(y.Rules, y.Default))
	for _, e := range slices.Concat(x.Entries, y.Entries) {
		of := func(t *ir.MCPTable) *ir.MCPEntry {
			i := slices.IndexFunc(t.Entries, func(o ir.MCPEntry) bool { return o.Key == e.Key && o.From == e.From })
			if i < 0 {
				return &ir.MCPEntry{Key: e.Key, From: e.From}
			}
			return &t.Entries[i]
		}
		was, is := of(x), of(y)
		path := []string{"mcp", e.Key}
		d.rules(name, at, path, "*", was.Rules, is.Rules)
		d.word(name, at, path, decided(was.Rules, was.Default), decided(is.Rules, is.Default))
		d.word(name, at, append(slices.Clip(path), "resources"), was.Resources, is.Resources)
		d.word(name, at, append(slices.Clip(path), "prompts"), was.Prompts, is.Prompts)
	}
}

// decided returns what a table decides where no rule matches.
func decided(rules []ir.Rule, fallback *ir.Default) *ir.Default {
	for _, r := range rules {
		if r.Pattern.Kind == ir.All && r.Decision == ir.Deny {
			return &ir.Default{Decision: ir.Deny, Pos: r.Pos, From: r.From}
		}
	}
	return fallback
}

// rules compares the rules of a table; all is the pattern for everything.
func (d *differ) rules(name string, at, path []string, all string, a, b []ir.Rule) {
	listed := func(x ir.Rule, rules []ir.Rule) bool {
		return x.Pattern.Kind == ir.All && x.Decision == ir.Deny || slices.ContainsFunc(rules, func(y ir.Rule) bool {
			return x.Decision == y.Decision && x.Pattern == y.Pattern && x.From == y.From
		})
	}
	say := func(r ir.Rule, what string, at diag.Pos, do func(*patcher, []string, *value) error, of []string) {
		if d.copies(of, r.From) {
			r.From = ""
			defer func() { d.out[len(d.out)-1].copied = true }()
		}
		d.decides(name, r.From, at, fmt.Sprintf("%s %s %s is %s", strings.Join(path, ":"), r.Decision, r.Pattern, what),
			func(p *patcher) error {
				list := slices.Concat(p.owner(of, r.From), path, []string{r.Decision.String()})
				return do(p, list, patternValue(r.Pattern, all))
			})
	}
	closed := slices.ContainsFunc(b, ir.Rule.DeniesAll)
	for _, r := range b {
		if !listed(r, a) && !d.follows(at, r, closed, d.after, d.before) {
			say(r, "added", r.Pos, (*patcher).add, at)
		}
	}
	for _, r := range a {
		if !listed(r, b) && !d.follows(at, r, closed, d.before, d.after) {
			say(r, "taken out", diag.Pos{File: r.Pos.File}, (*patcher).drop, at)
		}
	}
}

// follows reports whether a rule that a subject has from a policy, of one side alone, is no change of the
// policy: the subject lost the whole group, or the file that states the rule says the same on the other side,
// so that it is the subject's own file that was edited.
func (d *differ) follows(at []string, r ir.Rule, closed bool, side, other *ir.Project) bool {
	if r.From == "" || d.copies(at, r.From) || closed {
		return r.From != "" && closed
	}
	stated, still := false, true
	for i := range side.Roles {
		role := &side.Roles[i]
		if role.Pos.File == d.home {
			continue
		}
		has := other.Role(role.Name)
		for _, g := range ir.Groups {
			for _, x := range rulesOf(&role.Can, g) {
				if x.Pos != r.Pos {
					continue
				}
				stated = true
				still = still && has != nil && slices.ContainsFunc(rulesOf(&has.Can, g), func(y ir.Rule) bool {
					return x.Decision == y.Decision && x.Pattern == y.Pattern
				})
			}
		}
	}
	return stated && still
}

// copies reports whether a subject of the source says itself what a policy says that it could extend.
func (d *differ) copies(at []string, from string) bool {
	policy, ok := strings.CutPrefix(from, policyPrefix)
	return ok && !d.extends(at, policy)
}

// word compares what is decided where no rule matches.
func (d *differ) word(name string, at, path []string, a, b *ir.Default) {
	x, y := cmp.Or(a, &ir.Default{}), cmp.Or(b, &ir.Default{})
	if (a == nil) == (b == nil) && x.Decision == y.Decision {
		return
	}
	said, from, pos := "nothing", x.From, diag.Pos{File: x.Pos.File}
	if b != nil {
		said, from, pos = y.Decision.String(), y.From, y.Pos
	}
	d.decides(name, from, pos, fmt.Sprintf("%s says %s", strings.Join(path, ":"), said),
		func(p *patcher) error {
			if b == nil {
				said = ""
			}
			path := append(p.owner(at, from), path...)
			if err := p.decide(path, said); err != nil {
				return err
			}
			if said == "" {
				p.tidy(path)
			}
			return nil
		})
}
