package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/policy"
)

// Settings is what modec.toml sets on one side.
type Settings struct {
	Values map[string]string // by key
	// Defaults are those of the values that nobody has to set: they are no news beside a target that is new or gone.
	Defaults map[string]string
	// Holds names, for the keys that say it, the subject to which the project's files hold every session.
	Holds map[string]string
	// Agents are the keys of the targets that are agents, and that the source restricts.
	Agents []string
}

// Settings adds what modec.toml sets in another way. It is a widening where files hold nobody any more, where they hold
// sessions to a subject that may do more, where hooks do not enforce or a target keeps what it cannot say any more, and
// where an agent is no target any more.
func (r *Report) Settings(before, after *policy.Engine, was, is Settings, file string, seed uint64) error {
	keys := slices.Sorted(maps.Keys(is.Values))
	for _, k := range slices.Sorted(maps.Keys(was.Values)) {
		if _, ok := is.Values[k]; !ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		old, had := was.Values[k]
		now, has := is.Values[k]
		o := Other{Kind: Changed, What: k, Pos: diag.Pos{File: file}}
		usual := func(of map[string]string) bool { _, ok := of[k]; return ok }
		switch {
		case !had && usual(is.Defaults), !has && usual(was.Defaults):
			continue
		case !had:
			o.Text = fmt.Sprintf("is set to %q", now)
		case !has:
			o.Text = fmt.Sprintf("is not set any more, and was %q", old)
		case old != now:
			o.Text = fmt.Sprintf("is %q, and was %q", now, old)
		default:
			continue
		}
		more, err := r.heldLess(before, after, was.Holds[k], is.Holds[k], seed)
		if err != nil {
			return err
		}
		switch {
		case more != "":
			o.Kind, o.Text = Widened, o.Text+more
		case has && k == "hooks" && old == string(contract.Enforce):
			o.Kind, o.Text = Widened, o.Text+": nothing holds any more what files cannot say"
		case now == "keep" && strings.HasSuffix(k, ".partial") && had:
			o.Kind, o.Text = Widened, o.Text+": what this target cannot say is not held back any more"
		case !has && slices.Contains(was.Agents, k):
			o.Kind, o.Text = Widened, o.Text+": nothing of the source restricts it any more"
		}
		r.other(o)
	}
	return nil
}

// heldLess says what a session may do by another subject that files hold it to; "" where that is no more.
func (r *Report) heldLess(before, after *policy.Engine, old, now string, seed uint64) (string, error) {
	was, err := before.Project().ParseSubject(old, "")
	if old == "" || old == now || err != nil {
		return "", nil
	}
	if now == "" {
		return ": the files of the project hold no session any more", nil
	}
	is, err := after.Project().ParseSubject(now, "")
	if err != nil {
		return "", nil
	}
	c, err := r.compared(before, after, was, is, seed)
	if err != nil {
		return "", err
	}
	for _, k := range c.order {
		if x := c.change(k, after.Project()); x.Kind == Widened {
			return fmt.Sprintf(": %s may do more than %s: %s %s is %s, and was %s",
				is, was, x.Group, strings.Join(x.Examples, ", "), x.After.Decision, x.Before.Decision), nil
		}
	}
	return "", nil
}
