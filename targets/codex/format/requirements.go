package format

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/located"
)

// RequirementsFile has what an administrator is to place at [Requirements].
const RequirementsFile = Dir + "/requirements.toml"

// AdminFile is where Codex reads what an administrator requires of every session of a machine.
const AdminFile = "/etc/codex/requirements.toml"

// Requirements are what an administrator requires, as far as it decides something. No other configuration and no option
// stands above them.
type Requirements struct {
	Policies  []Config // the policies that a session may have, the first in the place of any other; nil: all
	Sandboxes []Sandbox
	Searches  []string
	Features  map[string]bool
	Servers   map[string]Identity // the only ones that are started, where Limited is set
	Limited   bool
	Forbidden [][][]string // of each rule the words that stand in each place of a command
	Root      *located.Value
}

// Identity is how a server is started or reached.
type Identity struct{ Command, URL string }

// ReadRequirements reads what an administrator requires. An error is one for which Codex does not start.
func ReadRequirements(file string, data []byte) (*Requirements, error) {
	root, err := located.TOML(file, data)
	if err != nil {
		return nil, err
	}
	q := &Requirements{Root: root, Features: map[string]bool{}, Servers: map[string]Identity{}}
	r := reader{}
	for _, v := range root.Get("allowed_approval_policies").List() {
		q.Policies = append(q.Policies, r.allowed(v))
	}
	for _, v := range root.Get("allowed_sandbox_modes").List() {
		box := r.oneOf(v, "allowed_sandbox_modes", string(ReadOnly), string(Workspace), string(FullAccess))
		q.Sandboxes = append(q.Sandboxes, Sandbox(box))
	}
	if v := root.Get("allowed_sandbox_modes"); v != nil && !slices.Contains(q.Sandboxes, ReadOnly) {
		r.fail(v.Pos, "allowed_sandbox_modes does not have %q", ReadOnly)
	}
	for _, v := range root.Get("allowed_web_search_modes").List() {
		q.Searches = append(q.Searches, r.oneOf(v, "allowed_web_search_modes", Searches...))
	}
	for _, m := range root.Get("features").Fields() {
		q.Features[m.Key] = m.Value.True()
	}
	servers := root.Get("mcp_servers")
	q.Limited = servers != nil
	for _, m := range servers.Fields() {
		is := Identity{}
		is.Command, _ = m.Value.Get("identity").Get("command").Str()
		is.URL, _ = m.Value.Get("identity").Get("url").Str()
		q.Servers[m.Key] = is
	}
	for _, v := range root.Get("rules").Get("prefix_rules").List() {
		if r.oneOf(v.Get("decision"), "decision", "forbidden", "prompt", "prompt-user") == "forbidden" {
			q.Forbidden = append(q.Forbidden, wordsOf(v.Get("pattern")))
		}
	}
	return q, r.err
}

// allowed reads a policy that a session may have.
func (r *reader) allowed(v *located.Value) Config {
	if v.Is(located.Object) {
		c := Config{Policy: Granular, Asks: map[string]bool{}}
		for _, m := range v.Get("granular").Fields() {
			c.Asks[m.Key] = m.Value.True()
		}
		return c
	}
	word := r.oneOf(v, "allowed_approval_policies", AsUntrusted, string(OnRequest), string(Never))
	if word == AsUntrusted {
		return Config{Policy: Untrusted}
	}
	return Config{Policy: Policy(word)}
}

// AsUntrusted is the word for [Untrusted] in what an administrator requires: a configuration has none.
const AsUntrusted = "untrusted"

// wordsOf returns the words that stand in each place.
func wordsOf(pattern *located.Value) (all [][]string) {
	for _, v := range pattern.List() {
		if word, ok := v.Get("token").Str(); ok {
			all = append(all, []string{word})
		} else {
			all = append(all, v.Get("any_of").Strings())
		}
	}
	return all
}

// Under returns a configuration as it is where an administrator requires something.
func (c *Config) Under(q *Requirements) *Config {
	out := *c
	same := func(p Config) bool { return p.Policy == c.Policy && maps.Equal(p.Asks, c.Asks) }
	if len(q.Policies) > 0 && !slices.ContainsFunc(q.Policies, same) {
		out.Policy, out.Asks = q.Policies[0].Policy, q.Policies[0].Asks
	}
	if len(q.Sandboxes) > 0 && !slices.Contains(q.Sandboxes, c.Sandbox) {
		out.Sandbox = ReadOnly
	}
	if len(q.Searches) > 0 && !slices.Contains(q.Searches, c.Search) {
		out.Search = q.Searches[0]
	}
	out.Features = maps.Clone(c.Features)
	maps.Copy(out.Features, q.Features)
	if q.Limited {
		out.Servers = slices.DeleteFunc(slices.Clone(c.Servers), func(s Server) bool { return !q.starts(&s) })
	}
	return &out
}

// starts reports whether a server may be started.
func (q *Requirements) starts(s *Server) bool {
	is, ok := q.Servers[s.Name]
	command, _ := s.Entry.Get("command").Str()
	url, _ := s.Entry.Get("url").Str()
	return ok && is.Command == command && is.URL == url
}

// Forbids reports whether a rule forbids a line of commands. Codex splits lines of plain words alone, and reads all
// else as one command, which begins with a shell.
func (q *Requirements) Forbids(line string) bool {
	if !plainWords(line) {
		return false
	}
	commands := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune("&|;\n", c) })
	return slices.ContainsFunc(commands, func(command string) bool {
		words := strings.Fields(command)
		return slices.ContainsFunc(q.Forbidden, func(rule [][]string) bool { return begins(words, rule) })
	})
}

// begins reports whether words begin with those of a rule.
func begins(words []string, rule [][]string) bool {
	for i, alternatives := range rule {
		if i >= len(words) || !slices.Contains(alternatives, words[i]) {
			return false
		}
	}
	return len(rule) > 0
}

// plainWords reports whether a line has nothing but words that a shell takes as they are, joined by &&, ||, | and ;.
func plainWords(line string) bool {
	return !strings.ContainsFunc(line, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') &&
			!strings.ContainsRune(" \n_-./:@%+,&|;", c)
	}) && !strings.Contains(strings.ReplaceAll(line, "&&", ""), "&")
}
