package format

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
)

// Entry is how a server is started or reached, with variables as ${VAR}.
type Entry struct {
	Command string
	Args    []string
	Cwd     string
	Env     map[string]string
	URL     string
	Headers map[string]string
}

var (
	anyRef   = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
	wholeRef = regexp.MustCompile(`\A\$\{([A-Za-z_][A-Za-z0-9_]*)\}\z`)
)

// Refers reports whether a text has a variable.
func Refers(text string) bool { return anyRef.MatchString(text) }

// The keys of an entry that name variables.
const (
	envVars    = "env_vars" // handed on under their own names
	bearerVar  = "bearer_token_env_var"
	headerVars = "env_http_headers" // header = variable

	authorization = "Authorization"
	bearer        = "Bearer "
)

// line returns an entry that a shell starts, for one that puts variables into words or into other variables: Codex
// replaces none.
func (s *Entry) line() contract.Object {
	var b strings.Builder
	names := map[string]bool{}
	env := contract.Object{}
	word := func(text string) string {
		last, out := 0, ""
		for _, at := range anyRef.FindAllStringIndex(text, -1) {
			if last < at[0] {
				out += contract.ShellQuote(text[last:at[0]])
			}
			ref := text[at[0]:at[1]]
			names[ref[len("${"):len(ref)-len("}")]] = true
			out += `"` + ref + `"`
			last = at[1]
		}
		if last < len(text) || text == "" {
			out += contract.ShellQuote(text[last:])
		}
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		if value := s.Env[key]; !Refers(value) {
			env = append(env, key, value)
		} else if m := wholeRef.FindStringSubmatch(value); m != nil && m[1] == key {
			names[key] = true
		} else {
			b.WriteString(key + "=" + word(value) + " ")
		}
	}
	b.WriteString("exec")
	for _, text := range append([]string{s.Command}, s.Args...) {
		b.WriteString(" " + word(text))
	}
	o := contract.Object{"command", "sh", "args", []string{"-c", b.String()}}
	if len(env) > 0 {
		o = append(o, "env", env)
	}
	return append(o, envVars, slices.Sorted(maps.Keys(names)))
}

// spelled reports whether Codex says the entry of a program without a shell.
func (s *Entry) spelled() bool {
	for key, value := range s.Env {
		if Refers(value) && value != "${"+key+"}" {
			return false
		}
	}
	return !slices.ContainsFunc(append([]string{s.Command}, s.Args...), Refers)
}

// variables returns what the entry hands on: variables and headers.
func (s *Entry) variables() (o contract.Object, problem string) {
	var names []string
	var env, headers, byVariable contract.Object
	token := ""
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		value := s.Env[key]
		if Refers(value) {
			names = append(names, key) // of that name: see spelled
		} else {
			env = append(env, key, value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
		value := s.Headers[key]
		secret, isToken := strings.CutPrefix(value, bearer)
		of, whole := wholeRef.FindStringSubmatch(secret), wholeRef.FindStringSubmatch(value)
		switch {
		case isToken && strings.EqualFold(key, authorization) && of != nil:
			token = of[1]
		case whole != nil:
			byVariable = append(byVariable, key, whole[1])
		case Refers(value):
			return nil, "Codex takes a whole header from a variable, and " + key + " is " + value
		default:
			headers = append(headers, key, value)
		}
	}
	if len(env) > 0 {
		o = append(o, "env", env)
	}
	if len(names) > 0 {
		o = append(o, envVars, names)
	}
	if token != "" {
		o = append(o, bearerVar, token)
	}
	if len(headers) > 0 {
		o = append(o, "http_headers", headers)
	}
	if len(byVariable) > 0 {
		o = append(o, headerVars, byVariable)
	}
	return o, ""
}
