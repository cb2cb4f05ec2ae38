package contract

import (
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Leaves reports whether a subject says nothing of a group, to an agent that lacks permission modes.
func Leaves(s *policy.Subject, g ir.Group) bool {
	return len(s.Rules(g)) == 0 && least(s, g) == ir.Agent
}

// Opens reports whether a subject permits a whole group without a question, or says nothing of it.
func Opens(s *policy.Subject, g ir.Group) bool {
	files := g == ir.Read || g == ir.Edit // allowed inside, and left to an agent that may ask outside, is neither
	mixed := files && s.Default(g).Decision == ir.Allow && s.UnmatchedOutside(g).Decision == ir.Agent
	return !s.Restricts(g) && !mixed && least(s, g) >= ir.Allow
}

// least returns the lower decision of a group's default and of what the default does not speak of: what lies outside
// the project, and a search, which names no host.
func least(s *policy.Subject, g ir.Group) ir.Decision {
	d := s.Default(g)
	other := d
	switch g {
	case ir.Read, ir.Edit:
		other = s.UnmatchedOutside(g)
	case ir.Web:
		other = s.Decide(policy.Action{Group: g})
	}
	return min(d.WithoutPermissionMode(), other.WithoutPermissionMode())
}

// Denies reports whether a subject denies a whole group.
func Denies(s *policy.Subject, g ir.Group) bool {
	d := s.Default(g)
	rules := s.Rules(g)
	return slices.ContainsFunc(rules, ir.Rule.DeniesAll) || d.WithoutPermissionMode() == ir.Deny &&
		!slices.ContainsFunc(rules, func(r ir.Rule) bool { return r.Decision > ir.Deny })
}

// FoldersOf returns the folders at which the paths begin that a glob matches, without those below the folder that is
// searched.
func FoldersOf(glob string) (folders []string) {
	globs, err := policy.ExpandBraces(glob)
	if err != nil {
		globs = []string{glob}
	}
	for _, g := range globs {
		folder := g
		if i := strings.IndexAny(g, "*?[{"); i >= 0 {
			folder = g[:strings.LastIndexByte(g[:i], '/')+1]
		}
		if slices.Contains(strings.Split(g[len(folder):], "/"), "..") { // behind a wildcard
			folders = append(folders, "..")
		}
		if filepath.IsAbs(folder) || policy.IsRooted(folder) || slices.Contains(strings.Split(folder, "/"), "..") {
			folders = append(folders, folder)
		}
	}
	return folders
}
