package verify

import (
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/cache"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// exception returns the exception that covers what the artifacts answer about an action, nil for none. A group that
// they keep in part covers what they hold as they were compiled, and nobody's edit.
func (j *job) exception(w *Witness, a contract.Answer) *contract.Exception {
	x := j.covering(w)
	if x == nil || !x.Partial || j.compiled == nil || !opensBare(j.compiled.Decide(j.ref, w.Action), a) {
		return x
	}
	return nil
}

// covering returns the exception that covers an action, nil for none.
func (j *job) covering(w *Witness) *contract.Exception {
	p := j.target.Input.Project
	kept := func(x *contract.Exception) bool {
		return x != nil && (!x.Partial || j.target.Kept[Kept{x.Subject.String(), x.Group}])
	}
	if role := (ir.SubjectRef{Role: j.ref.Role}); j.ref.Mode != "" && j.ref.Role != "" {
		// In a mode that a role keeps, the agent may do what it may in the role.
		if x := j.target.Input.ExceptsGroup(role, ir.Modes); kept(x) && x.Partial {
			return x
		}
	}
	for _, ref := range []ir.SubjectRef{j.ref, {Mode: j.ref.Mode}, {Role: j.ref.Role}} {
		switch {
		case ref == ir.SubjectRef{}:
			continue
		case w.Group == ir.MCP:
			byName := false
			if sv := p.Started(w.Server); sv != nil {
				t := sv.Tool(w.Arg)
				byName = !sv.DefaultEnabled || t != nil && t.Risk == "destructive"
			}
			if x := j.target.Input.Excepts(ref, w.Server, w.Arg, byName); kept(x) {
				return x
			}
			continue
		default:
			if x := j.target.Input.ExceptsGroup(ref, w.Group); kept(x) {
				return x
			}
		}
		for i := range j.target.Input.Exceptions {
			x := &j.target.Input.Exceptions[i]
			if x.Subject == ref && x.Group == w.Group && w.Arg != "" && accepts(x, w) {
				return x
			}
		}
	}
	return nil
}

// accepts reports whether an exception that names an argument, or a pattern, accepts an action.
func accepts(x *contract.Exception, w *Witness) bool {
	if x.Pattern == w.Arg {
		return true
	}
	if literal(x.Pattern) {
		return false
	}
	s := accepted{x.Group, x.Pattern}.subject()
	return s != nil && s.Decide(w.Action).Decision == ir.Allow
}

// acceptable returns the pattern of an entry of somebody's own by which the artifacts permit an action, as an exception
// would accept it, "" for none, and "*" for one that permits all of the group. Where the agent compares without regard
// to case, so does the pattern.
func (j *job) acceptable(w *Witness) string {
	if w.Group == ir.MCP {
		return ""
	}
	if j.own == nil {
		j.own = j.ownPatterns()
	}
	for _, pattern := range j.own[w.Group] {
		if pattern == Everything {
			return Everything
		}
		for _, text := range []string{pattern, anyCase(pattern)} {
			if accepts(&contract.Exception{Group: w.Group, Pattern: text}, w) {
				return text
			}
		}
	}
	return ""
}

// Everything is the pattern of an exception about a whole group.
const Everything = "*"

// ownPatterns returns the patterns of somebody's own entries, by group: those of the artifacts that the compiled ones
// lack.
func (j *job) ownPatterns() map[ir.Group][]string {
	own := map[ir.Group][]string{}
	p, ok := j.decider.(contract.Patterned)
	if !ok || j.compiled == nil {
		return own
	}
	var before map[ir.Group][]ir.Pattern
	if compiled, ok := j.compiled.(contract.Patterned); ok {
		before = compiled.Patterns(j.ref)
	}
	for g, patterns := range p.Patterns(j.ref) {
		for _, pattern := range patterns {
			switch {
			case slices.Contains(before[g], pattern):
			case pattern.Everything():
				own[g] = []string{Everything}
			case pattern.Kind == ir.Plain && !literal(pattern.Text):
				own[g] = append(own[g], pattern.Text)
			}
		}
	}
	return own
}

// anyCase returns a glob that has each letter in both cases, "" where it has sets of letters of its own.
func anyCase(glob string) string {
	if strings.ContainsAny(glob, `[{\`) {
		return ""
	}
	var b strings.Builder
	for _, r := range glob {
		if lower, upper := unicode.ToLower(r), unicode.ToUpper(r); lower != upper {
			b.WriteString("[" + string(lower) + string(upper) + "]")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// literal reports whether a pattern names one argument.
func literal(pattern string) bool { return pattern != "" && !strings.ContainsAny(pattern, "*?[{") }

// languagesOf returns those by which an exception tells arguments apart.
func languagesOf(x *contract.Exception, of policy.Field, in *regexlang.Space) []regexlang.Language {
	all := []regexlang.Language{in.Text(strings.TrimPrefix(x.Pattern, of.Server+":"))}
	if x.Group == ir.MCP || literal(x.Pattern) {
		return all
	}
	if s := (accepted{x.Group, x.Pattern}).subject(); s != nil {
		if more, err := s.Languages(in, of); err == nil {
			all = append(all, more...)
		}
	}
	return all
}

// accepted is what the pattern of an exception says: it means what the source would mean by it in an allow.
type accepted struct {
	group   ir.Group
	pattern string
}

// patternsOfExceptions are the last ones, each as a subject that may do what the pattern says and nothing else; nil for
// what is no pattern.
var patternsOfExceptions = cache.New[accepted, *policy.Subject](64)

func (a accepted) subject() *policy.Subject {
	if s, ok := patternsOfExceptions.Get(a); ok {
		return s
	}
	role := ir.Role{Name: "accepted"}
	table := &ir.Table{Default: &ir.Default{Decision: ir.Deny},
		Rules: []ir.Rule{{Decision: ir.Allow, Pattern: ir.Pattern{Text: a.pattern}}}}
	switch a.group {
	case ir.Read:
		role.Can.Read = table
	case ir.Edit:
		role.Can.Edit = table
	case ir.Command:
		role.Can.Command = table
	case ir.Web:
		role.Can.Web = table
	case ir.Modes:
		role.Can.Modes = table
	}
	s, err := policy.New(&ir.Project{Roles: []ir.Role{role}}).Subject(ir.SubjectRef{Role: role.Name})
	if err != nil {
		s = nil
	}
	patternsOfExceptions.Put(a, s)
	return s
}
