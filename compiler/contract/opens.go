package contract

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// What members of an entry say, in the words of all agents. Of any other a change counts as one that permits more: it
// may be what is started.
var (
	saysNothing = []string{"$schema", "description", "icon", "startup_timeout_sec", "timeout", "tool_timeout_sec"}
	permitting  = []string{"allow", "allowed", "alwaysAllow", "autoApprove", "autoRun", "env", "headers", "trust"}
	withholding = []string{"deny", "disabledTools", "disabled_tools", "exclude", "excludeTools", "excluded"}
	limiting    = []string{"enabledTools", "enabled_tools", "includeTools", "tools"} // a list of all that is permitted
	starting    = []string{"args", "command", "headersHelper", "hooks"}
)

// Opens reports whether what people changed in the file beside modec's entries may permit more: an entry among those
// that permit, a change of one, or one less of those that hold back. An entry that starts a program does in any place.
func (f *File) Opens(d located.Difference) bool {
	keys := strings.Split(strings.TrimPrefix(d.Place, "/"), "/")
	if d.After != nil && (slices.Contains(f.Programs, keys[0]) || starts(keys, d.After)) {
		return true
	}
	if covered(f.Restrains, keys) > 0 {
		return d.Before != nil
	}
	n := covered(f.Places, keys)
	if n > 0 && d.Before != nil && (d.After == nil || d.Before.Kind != located.Object) && releases(keys, d) {
		return true
	}
	if n == 0 && (d.Before == nil) != (d.After == nil) && f.above(keys) {
		return slices.ContainsFunc(parts(d), f.Opens)
	}
	if n == 0 || slices.Contains(saysNothing, keys[n-1]) {
		return false
	}
	inside := slices.DeleteFunc(slices.Clone(keys[n:]), func(key string) bool { return key == "-" })
	switch {
	case len(inside) == 0:
		return d.After != nil && opens(keys[n-1], d.After)
	case slices.Contains(saysNothing, inside[0]):
		return false
	case slices.Contains(limiting, inside[0]):
		return d.Whole == (d.After == nil)
	case d.After == nil:
		return !slices.Contains(permitting, inside[0]) && !allows(d.Before)
	}
	return opens(inside[0], d.After)
}

// releases reports whether a value held something back that does not any more: a deny, a question, what was turned off.
func releases(keys []string, d located.Difference) bool {
	was, _ := d.Before.Str()
	is, _ := d.After.Str()
	switch {
	case was == ir.Deny.String():
		return is != was
	case was == ir.Ask.String():
		return d.After == nil || is != was && is != ir.Deny.String()
	case d.Before.Is(located.Bool) && off(keys[len(keys)-1]):
		return d.Before.True() && !d.After.True()
	case d.After != nil:
		return false
	}
	return slices.ContainsFunc(parts(d), func(x located.Difference) bool {
		return releases(strings.Split(x.Place, "/"), x)
	})
}

// allows reports whether a value says allow and nothing else.
func allows(v *located.Value) bool {
	said, _ := v.Str()
	return said == ir.Allow.String() || len(v.Fields()) > 0 && !slices.ContainsFunc(v.Fields(),
		func(m located.Member) bool { return !allows(m.Value) })
}

// off reports whether a member turns off what has it.
func off(key string) bool { return key == "disabled" || key == "disable" }

// above reports whether a place lies below some keys.
func (f *File) above(keys []string) bool {
	return slices.ContainsFunc(f.Places, func(p string) bool {
		of := strings.Split(strings.TrimPrefix(p, "/"), "/")
		return len(of) > len(keys) && matches(of[:len(keys)], keys)
	})
}

// parts are the members and items of a value that only one file has.
func parts(d located.Difference) (list []located.Difference) {
	part := func(place string, v *located.Value) {
		x := located.Difference{Place: place, After: v}
		if d.After == nil {
			x.Before, x.After = v, nil
		}
		list = append(list, x)
	}
	v := cmp.Or(d.After, d.Before)
	for _, m := range v.Fields() {
		part(d.Place+"/"+m.Key, m.Value)
	}
	for _, x := range v.List() {
		part(d.Place+"/-", x)
	}
	return list
}

// covered returns how many of the keys that lead to a value the first place that holds it names; 0: there is none.
func covered(places, keys []string) int {
	for _, p := range places {
		of := strings.Split(strings.TrimPrefix(p, "/"), "/")
		if len(of) <= len(keys) && matches(of, keys) {
			return len(of)
		}
	}
	return 0
}

func matches(pattern, keys []string) bool {
	for i, p := range pattern {
		if p != "*" && p != keys[i] {
			return false
		}
	}
	return true
}

// starts reports whether a value, by the keys that lead to it, is a program that the agent starts, or names one.
func starts(keys []string, v *located.Value) bool {
	if slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(starting, key) }) {
		return true
	}
	for _, m := range v.Fields() {
		if slices.Contains(starting, m.Key) || starts(nil, m.Value) {
			return true
		}
	}
	return slices.ContainsFunc(v.List(), func(x *located.Value) bool { return starts(nil, x) })
}

// opens reports whether a member with a value may permit something.
func opens(key string, v *located.Value) bool {
	said, _ := v.Str()
	switch {
	case said == ir.Deny.String() || said == ir.Ask.String(), slices.Contains(withholding, key):
		return false
	case v.Is(located.Bool):
		return v.True() != off(key)
	case v.Is(located.Object) && len(v.Fields()) > 0:
		return slices.ContainsFunc(v.Fields(), func(m located.Member) bool {
			return !slices.Contains(saysNothing, m.Key) && opens(m.Key, m.Value)
		})
	}
	return true
}
