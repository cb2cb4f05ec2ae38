package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/secret"
)

// Exceptions returns the [[exceptions]] of modec.toml by the name of their target. An
// unknown subject, an action that cannot be read and an exception past its last day are
// errors: a widening that nobody stands behind any more must not go on silently.
func (c *Config) Exceptions(p *ir.Project, today time.Time) (map[string][]contract.Exception, diag.List) {
	var diags diag.List
	out := map[string][]contract.Exception{}
	for _, raw := range c.exceptions {
		e := contract.Exception{Reason: raw.reason, Until: raw.until, Pos: raw.pos}
		var err error
		e.Entry = entryIn(raw.what)
		if !ofSessions(e.Entry) && (raw.subject != "" || !isHook(e.Entry)) {
			if e.Subject, err = p.ParseSubject(raw.subject, ""); err != nil {
				diags.Errorf(diag.UnknownSubject, raw.at["subject"], "%v", err).Path("exceptions.subject")
				continue
			}
		}
		if e.Entry == "" {
			e.Group, e.Server, e.Pattern, err = parseWhat(raw.what, p)
		}
		if err != nil {
			diags.Errorf(diag.BadException, raw.at["what"], "%v", err).Path("exceptions.what")
			continue
		}
		if today.After(raw.until.AddDate(0, 0, 1)) {
			diags.Errorf(diag.ExceptionExpired, raw.at["until"],
				"the exception ended on %s", raw.until.Format(time.DateOnly)).
				Path("exceptions.until").
				Hint("remove it, or have somebody decide again and move the date")
			continue
		}
		out[raw.target] = append(out[raw.target], e)
	}
	return out, diags
}

// Ends returns the last days of the exceptions.
func (c *Config) Ends() (list []lint.Exception) {
	for _, raw := range c.exceptions {
		list = append(list, lint.Exception{Until: raw.until, Pos: raw.at["until"]})
	}
	return list
}

// entryIn returns what an exception says about something that somebody added, as "hook ./scripts/gate.sh", "" for
// anything else.
func entryIn(what string) string {
	word, name, _ := strings.Cut(strings.TrimSpace(what), " ")
	if name = strings.TrimSpace(name); name == "" || !slices.Contains(contract.EntryWords, word) {
		return ""
	}
	return word + " " + name
}

// ofSessions reports whether an entry is of every session, and never of a mode or role: all but hooks.
func ofSessions(entry string) bool { return entry != "" && !isHook(entry) }

// isHook reports whether an entry is a hook: of the sessions of a subject, or of all.
func isHook(entry string) bool { return strings.HasPrefix(entry, contract.EntryHook+" ") }

// parseWhat reads what an exception concerns: "mcp", "mcp github",
// "mcp github:create_issue", "command git push *".
func parseWhat(what string, p *ir.Project) (g ir.Group, server, pattern string, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(what), " ")
	g, rest = ir.Group(word), strings.TrimSpace(rest)
	if !slices.Contains(ir.Groups, g) {
		return g, "", "", fmt.Errorf("got tool group %q, want one of %s", word, diag.Quote(groupNames()))
	}
	if g != ir.MCP || rest == "" {
		return g, "", rest, nil
	}
	server, pattern, named := strings.Cut(rest, ":")
	if !named {
		pattern = "*"
	}
	s := p.Server(server)
	if s == nil {
		return g, "", "", fmt.Errorf("got unknown server %q, want one of the inventory", server)
	}
	if pattern != "*" && s.Tool(pattern) == nil {
		return g, "", "", fmt.Errorf("got unknown tool %q of server %q, want one of the inventory or \"*\"",
			pattern, server)
	}
	return g, server, pattern, nil
}

// Acceptance is what an [[exceptions]] table accepts: an action of a subject, as verify names both.
type Acceptance struct {
	Target, Subject string // "claude", "role reviewer"
	Group           ir.Group
	Action          string
	Whole           bool // whatever the group has, and not the action alone
	Until           time.Time
}

// TableOf writes the [[exceptions]] table that accepts a finding, "" where none says this and nothing else.
func TableOf(a diag.Acceptance, target string, until time.Time, p *ir.Project) string {
	subject := ""
	if a.Subject != "" {
		kind, name, _ := strings.Cut(a.Subject, " ")
		subject = kind + ":" + name
		if ref, err := p.ParseSubject(subject, ""); err != nil || ref.String() != a.Subject {
			return ""
		}
	}
	entry := entryIn(a.What)
	if secret.Text(a.What) != a.What {
		return ""
	}
	if _, _, _, err := parseWhat(a.What, p); entry != a.What && err != nil {
		return ""
	}
	if !isHook(entry) && ofSessions(entry) != (subject == "") {
		return ""
	}
	return table(target, subject, a.What, until)
}

// Table writes the [[exceptions]] table, "" where none says this and nothing else: a role in a mode,
// a tool that the inventory does not list, text that a table cannot repeat.
func (a Acceptance) Table(p *ir.Project) string {
	kind, name, _ := strings.Cut(a.Subject, " ")
	ref, err := p.ParseSubject(kind+":"+name, "")
	what := string(a.Group)
	if err != nil || ref.String() != a.Subject || a.Action == "" {
		return ""
	}
	if !a.Whole {
		what += " " + a.Action
	}
	group, server, pattern, err := parseWhat(what, p)
	switch {
	case err != nil:
		return ""
	case !a.Whole:
		if pattern == "*" { // a whole group or server: more than the action
			return ""
		}
		if group == ir.MCP {
			pattern = server + ":" + pattern
		}
		if group != a.Group || pattern != a.Action {
			return ""
		}
	}
	return table(a.Target, kind+":"+name, what, a.Until)
}

// table writes an [[exceptions]] table.
func table(target, subject, what string, until time.Time) string {
	type table struct {
		Target  string         `toml:"target"`
		Subject string         `toml:"subject,omitempty"`
		What    string         `toml:"what"`
		Until   toml.LocalDate `toml:"until"`
		Reason  string         `toml:"reason"`
	}
	year, month, day := until.Date()
	text, err := toml.Marshal(map[string][]table{"exceptions": {{
		target, subject, what, toml.LocalDate{Year: year, Month: int(month), Day: day}, "say why, and who decided it",
	}}})
	if err != nil {
		return ""
	}
	return string(text)
}
