package contract

import (
	"regexp"

	"modec.dev/modec/compiler/ir"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// EnvRefs returns a text with the source's ${VAR} written as ${env:VAR}, as Roo and Cursor
// read it.
func EnvRefs(s string) string { return variable.ReplaceAllString(s, "${env:$1}") }

// EnvRefsAll applies EnvRefs to the values of a map.
func EnvRefsAll(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = EnvRefs(v)
	}
	return out
}

// EnvRefsList applies EnvRefs to the items of a list.
func EnvRefsList(l []string) []string {
	out := make([]string, len(l))
	for i, s := range l {
		out[i] = EnvRefs(s)
	}
	return out
}

// EnvTransport returns how a server is started or reached, with references as EnvRefs writes them. The arguments of a
// gateway are in an agent's own words, and stay as they are.
func EnvTransport(sv *ir.Server) (o Object) {
	if sv.Type != "stdio" {
		o = Object{"url", EnvRefs(sv.URL)}
		if len(sv.Headers) > 0 {
			o = append(o, "headers", EnvRefsAll(sv.Headers))
		}
		return o
	}
	o = Object{"command", EnvRefs(sv.Command)}
	switch {
	case sv.Gateway != nil:
		o = append(o, "args", sv.Args)
	case len(sv.Args) > 0:
		o = append(o, "args", EnvRefsList(sv.Args))
	}
	if sv.Cwd != "" {
		o = append(o, "cwd", EnvRefs(sv.Cwd))
	}
	if len(sv.Env) > 0 {
		o = append(o, "env", EnvRefsAll(sv.Env))
	}
	return o
}

// ExpandRefs returns a text with each of the source's ${VAR} replaced by the value of the variable.
func ExpandRefs(s string, value func(name string) string) string {
	return variable.ReplaceAllStringFunc(s, func(ref string) string {
		return value(ref[len("${") : len(ref)-len("}")])
	})
}
