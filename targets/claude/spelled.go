package claude

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format/rule"
)

// ruleLists is the decision of each list of rules, by its place in a file of settings.
var ruleLists = map[string]ir.Decision{
	"/permissions/allow": ir.Allow, "/permissions/ask": ir.Ask, "/permissions/deny": ir.Deny,
}

// spelled returns the rule that a build writes where a person's rule means the same: Read(./x),
// Bash(*), mcp__server__*.
func spelled(place, text string) string {
	d, known := ruleLists[place]
	r, err := rule.Parse(text)
	if err != nil || !known || r.Skipped(d) != nil {
		return ""
	}
	switch server, all := strings.CutSuffix(text, "__*"); {
	case all && strings.HasPrefix(server, "mcp__") && !strings.Contains(server, "*") &&
		!strings.Contains(server[len("mcp__"):], "__") && !strings.HasSuffix(server, "_"):
		return server
	case text == "Bash(*)" && d == ir.Allow: // a deny or an ask of it leaves what no rule on lines sees, such as export
		return "Bash"
	case !r.HasSpec || !slices.Contains([]string{"Read", "Edit"}, r.Tool):
		return ""
	}
	neutral, ok := dialect.Translate(r, d, nil)
	if !ok || len(neutral) != 1 {
		return ""
	}
	glob := neutral[0].Pattern.Text
	switch {
	case d == ir.Allow && r.Tool == "Read":
		return ""
	case d == ir.Allow:
		if folder := dialect.AllowedFolder(glob); folder != "" {
			return "Edit(" + folder + ")"
		}
		return ""
	case glob == "" || dialect.Above(glob):
		return ""
	}
	pattern, _ := held(glob)
	return r.Tool + "(" + pattern + ")"
}
