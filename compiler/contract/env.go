package contract

import "regexp"

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// EnvRefs writes the source's ${VAR} as ${env:VAR}, which Roo and Cursor read.
func EnvRefs(s string) string { return variable.ReplaceAllString(s, "${env:$1}") }

// EnvRefsAll is EnvRefs over a map's values.
func EnvRefsAll(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = EnvRefs(v)
	}
	return out
}

// EnvRefsList is EnvRefs over a list.
func EnvRefsList(l []string) []string {
	out := make([]string, len(l))
	for i, s := range l {
		out[i] = EnvRefs(s)
	}
	return out
}
