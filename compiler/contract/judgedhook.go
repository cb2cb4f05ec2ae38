package contract

import (
	"errors"
	"slices"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// HookRole is what a model knows of the answers of a hook.
type HookRole uint8

// The roles of hooks.
const (
	HookStranger HookRole = iota // may answer anything
	HookAbsent                   // may not refuse where modec does: as if it were not there
	HookRefuses                  // refuses every call
	HookModec                    // runs modec's hook for its subject
)

// JudgedHook is a hook as the model of its agent knows it. What modec's decides by is said where it is [HookModec].
type JudgedHook struct {
	Role    HookRole
	Policy  *policy.Engine
	Subject ir.SubjectRef
	Allows  bool // --may-allow
}

// Follow has a hook of a file decide by the policy, for the subject of its line. The error says why it refuses every
// call, or why nobody knows what it answers.
func (h *JudgedHook) Follow(line *HookLine, file string, p *HookPolicy) (err error) {
	if line.Elsewhere(file) {
		h.Role = HookStranger
		return errors.New("the hook is about another folder: what it answers is not known")
	}
	h.Role, h.Allows = HookModec, line.MayAllow
	if h.Policy, h.Subject, err = p.Of(line); err != nil {
		h.Role = HookRefuses
	}
	return err
}

// Text names the hook at an event of its agent: modec's by its subject, another one by its line.
func (h *JudgedHook) Text(event, line string) string {
	if h.Role == HookModec {
		return "the hook of " + h.Subject.String()
	}
	return event + ": " + line
}

// deciding returns the subjects of the policy that decide about a subject: that of the hook, and the same in the mode
// in which the subject works.
func (h *JudgedHook) deciding(ref ir.SubjectRef) []ir.SubjectRef {
	refs := []ir.SubjectRef{h.Subject}
	if h.Subject.Role != "" && ref.Mode != "" {
		refs = append(refs, ir.SubjectRef{Role: h.Subject.Role, Mode: ref.Mode})
	}
	return refs
}

// AddPermitted adds the patterns of what the policy permits a subject, each once.
func (h *JudgedHook) AddPermitted(to map[ir.Group][]ir.Pattern, ref ir.SubjectRef) {
	if h.Role != HookModec {
		return
	}
	for _, of := range h.deciding(ref) {
		s, err := h.Policy.Subject(of)
		if err != nil {
			continue
		}
		for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
			for _, r := range s.Rules(g) {
				if r.Decision > ir.Deny && !slices.Contains(to[g], r.Pattern) {
					to[g] = append(to[g], r.Pattern)
				}
			}
		}
	}
}

// HookLanguages returns what the policies of hooks decide by about a subject's plain arguments, and the tools that they
// list of a server.
func HookLanguages(
	sp *regexlang.Space, hooks []*JudgedHook, ref ir.SubjectRef, of policy.Field,
) (all []regexlang.Language, tools []string, err error) {
	seen := map[JudgedHook]bool{}
	for _, h := range hooks {
		same := JudgedHook{Role: h.Role, Policy: h.Policy, Subject: h.Subject}
		if h.Role != HookModec || seen[same] {
			continue
		}
		seen[same] = true
		for _, ref := range h.deciding(ref) {
			s, err := h.Policy.Subject(ref)
			if err != nil {
				return nil, nil, err
			}
			said, err := s.Languages(sp, of)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, said...)
		}
		sv := h.Policy.Project().Server(of.Server)
		if of.Group != ir.MCP || sv == nil {
			continue
		}
		if !h.Policy.Project().ListsTools(sv) { // a name may be that of several that are not listed
			return nil, nil, regexlang.ErrNotRegular
		}
		for i := range sv.Tools {
			tools = append(tools, sv.Tools[i].Name)
		}
	}
	return all, tools, nil
}

// KnowingFiles returns hooks, and modec's once more as it knows what an agent's files ask about: by the text of a call.
func KnowingFiles(hooks []*JudgedHook) []*JudgedHook {
	all := slices.Clone(hooks)
	for _, h := range hooks {
		if h.Role == HookModec {
			text := *h
			text.Policy = h.Policy.OnText()
			all = append(all, &text)
		}
	}
	return all
}

// Said returns what an agent takes from the answer of a hook by refused and read: nothing of one that ends in an error
// is read, and one that panics refuses, as `modec hook` does.
func Said[T any](ask func() HookAnswer, refused T, read func(stdout []byte) T) (said T) {
	defer func() {
		if recover() != nil {
			said = refused
		}
	}()
	a := ask()
	if a.Exit != 0 {
		return refused
	}
	return read(a.Stdout)
}
