package verify

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Witness is an action on which a subject's source and its artifacts are
// compared, with the source's decision.
type Witness struct {
	policy.Action
	Class  string // how it was made: "match", "near: longer", "path: parent"
	Source policy.Result
	// Assumed is set for what a closed inventory says does not exist: it is
	// compared, and counted apart.
	Assumed bool
}

// universe makes the witnesses of one subject. Each is there once, whatever the
// number of patterns that lead to it.
type universe struct {
	project *ir.Project
	subject *policy.Subject
	seen    map[policy.Action]bool
	list    []Witness
}

// Universe returns the witnesses of a subject in a fixed order: what is built
// from the patterns of its own rules (a match, near misses on each side, and
// the ways in which people and programs dress such an action), every tool of
// the inventory and one that is not in it, what agents do every day, more
// patterns that somebody else has in play, and a random part by the seed.
func Universe(e *policy.Engine, ref ir.SubjectRef, more map[ir.Group][]ir.Pattern, seed uint64) ([]Witness, error) {
	s, err := e.Subject(ref)
	if err != nil {
		return nil, err
	}
	u := &universe{project: e.Project(), subject: s, seen: map[policy.Action]bool{}}
	h := fnv.New64a()
	h.Write([]byte(ref.String()))
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes} {
		patterns := []ir.Pattern{}
		for _, r := range s.Rules(g) {
			patterns = append(patterns, r.Pattern)
		}
		switch g {
		case ir.Read, ir.Edit:
			u.files(g, patterns, random)
		case ir.Command:
			u.commands(patterns, random)
		case ir.Web:
			u.hosts(patterns, random)
		case ir.Modes:
			u.slugs()
		}
		for _, p := range more[g] {
			for _, sample := range samples(g, p) {
				u.add(g, sample, "match of an artifact")
			}
		}
	}
	u.tools()
	for _, name := range []string{"BrandNewTool", "browser_action", "x"} {
		u.add(ir.Unknown, name, "unknown tool")
	}
	return u.list, nil
}

func (u *universe) add(g ir.Group, arg, class string) {
	u.action(policy.Action{Group: g, Arg: arg}, class, false)
}

func (u *universe) action(a policy.Action, class string, assumed bool) {
	if u.seen[a] {
		return
	}
	u.seen[a] = true
	u.list = append(u.list, Witness{Action: a, Class: class, Source: u.subject.Decide(a), Assumed: assumed})
}

// samples returns arguments that a pattern of a group matches.
func samples(g ir.Group, p ir.Pattern) []string {
	var list []string
	switch g {
	case ir.Read, ir.Edit:
		list = fileSamples(p)
	case ir.Command:
		sample := commandSample(p)
		list = []string{sample, sample + " one --two=3"}
	case ir.Web:
		host := strings.TrimPrefix(p.Text, "*.")
		list = []string{host, "www." + host}
	}
	return slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" })
}

func (u *universe) slugs() {
	for _, list := range [][]ir.Mode{u.project.Modes, u.project.Builtins} {
		for i := range list {
			u.add(ir.Modes, list[i].Slug, "mode")
		}
	}
	u.add(ir.Modes, "modec-unlisted-mode", "unknown mode")
	if len(u.project.Modes) > 0 {
		u.add(ir.Modes, strings.ToUpper(u.project.Modes[0].Slug), "mode: case")
	}
}

// tools adds every tool of the inventory, one that each server does not list,
// its resources and prompts, and a server that nobody lists.
func (u *universe) tools() {
	closed := u.project.ClosedInventory
	for i := range u.project.Servers {
		sv := &u.project.Servers[i]
		for j := range sv.Tools {
			u.action(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: sv.Tools[j].Name}, "tool", false)
		}
		other := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool}
		u.action(other, "unlisted tool", closed && len(sv.Tools) > 0)
		fallback := u.subject.Decide(other).Decision
		for _, k := range []struct {
			kind policy.MCPKind
			name string
		}{{policy.Resource, "resource"}, {policy.Prompt, "prompt"}} {
			a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: "any", Kind: k.kind}
			// Nobody writes of what the server's default decides: a closed
			// inventory then says that there is none.
			u.action(a, k.name, closed && u.subject.Decide(a).Decision == fallback)
		}
	}
	u.action(policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool}, "unlisted server", closed)
}

// vocabulary returns the distinct words of patterns, for the random part.
func vocabulary(patterns []ir.Pattern, separators string, more ...string) []string {
	words := slices.Clone(more)
	for _, p := range patterns {
		if p.Kind == ir.Plain {
			words = append(words, strings.FieldsFunc(p.Text, func(c rune) bool { return strings.ContainsRune(separators, c) })...)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// randomArgs is how many random arguments each group gets.
const randomArgs = 40

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }
