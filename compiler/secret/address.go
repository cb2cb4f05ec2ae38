package secret

import (
	"slices"
	"strings"
)

// inAddress returns the parts of an address, without its scheme and query, that let in whoever knows
// them: what was drawn for one person in the path of an MCP server or of a webhook.
func inAddress(address string) (found []span) {
	host, path, _ := strings.Cut(address, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	segments := strings.Split(path, "/")
	opens := slices.ContainsFunc(strings.Split(host, "."), func(label string) bool {
		return strings.HasPrefix(label, "mcp") || label == "hooks" || label == "hook" || label == "webhook"
	})
	if !opens && !slices.ContainsFunc(segments, func(s string) bool { return slices.Contains(doors, s) }) {
		return nil
	}
	at := len(address) - len(path)
	for i, s := range segments {
		v := strings.TrimRight(s, "*:,;.)]}") // what ends a permission rule or a sentence
		named := i > 0 && slices.Contains(things, strings.TrimSuffix(segments[i-1], "s"))
		if opaque(v, 12) && (!named || random(v)) {
			found = append(found, span{at, at + len(v)})
		}
		at += len(s) + 1
	}
	return found
}

// doors are segments of the paths of MCP servers and webhooks.
var doors = []string{"mcp", "sse", "mcps", "webhook", "webhooks", "hook", "hooks"}

// things stand before the name of a thing in a path, in the singular.
var things = []string{
	"project", "org", "organization", "workspace", "team", "account", "user", "tenant", "site", "environment", "env",
	"database", "commit", "blob", "tree", "raw", "archive", "package", "version", "release", "download",
}
