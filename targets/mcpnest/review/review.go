// Package review reads the sources of a NestJS application for guards that trust what the
// caller writes.
//
// [Sources] finds two things. A guard may decide by the body of the request: the arguments of
// a tool, which anybody can fill with a user. And in MCP-Nest 2 a guard of a tool that asks
// switchToHttp() for the request gets those arguments in its place (2.0.5: the RPC context's
// first argument), so that a forged user in them passes.
//
// It reads tokens, not types: what a guard passes on to a function it takes for checked there.
package review

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

const (
	codeTrustsBody      diag.Code = "mcpnest-trusts-body"
	codeTrustsArguments diag.Code = "mcpnest-trusts-arguments"
	codeNoSources       diag.Code = "mcpnest-no-sources"
)

// Rules are what Sources finds in guards, with examples.
func Rules() []contract.LintRule {
	const open, end = "class MyGuard implements CanActivate {\n  canActivate(context: ExecutionContext) {\n", "  }\n}\n"
	const tool = "@McpController()\nclass Tools {\n  @Tool({ name: 'x' })\n  @UseGuards(MyGuard)\n  x() {}\n}\n"
	const raw = "    const request = context.switchToRpc().getContext<McpContext>().getRawRequest();\n"
	return []contract.LintRule{{
		ID: codeTrustsBody, Severity: diag.Warning,
		Doc: "A guard of the application decides by the request's body or by a tool's arguments. The caller writes " +
			"both: {\"isAdmin\": true} passes. Decide by request.user, which the guard of the endpoint has set from " +
			"a verified token.",
		Bad:  open + raw + "    return request.body.isAdmin;\n" + end,
		Good: open + raw + "    return request.user.roles.includes('admin');\n" + end,
	}, {
		ID: codeTrustsArguments, Severity: diag.Warning,
		Doc: "In MCP-Nest 2 a guard on a tool runs in an RPC context, where switchToHttp().getRequest() is the " +
			"tool's arguments: a caller who sends {\"user\": {\"roles\": [\"admin\"]}} passes. Use " +
			"context.switchToRpc().getContext<McpContext>().getRawRequest(), or the guards of the policy.",
		Bad:  open + "    return context.switchToHttp().getRequest().user.admin;\n" + end + tool,
		Good: open + raw + "    return request.user.admin;\n" + end + tool,
	}}
}

// maxFile is the largest file that is read, in bytes.
const maxFile = 1 << 20

// Request says what to read.
type Request struct {
	Files    fs.FS
	Patterns []string // doublestar, relative to Files
	Pos      diag.Pos // of the patterns
	Version  int      // the major version of MCP-Nest
}

// Sources reviews the guards in the files that match some patterns. Files of dependencies and
// files that are too large or not text are not read.
func Sources(req Request) diag.List {
	var diags diag.List
	names := matches(req.Files, req.Patterns)
	if len(names) == 0 {
		diags.Warnf(codeNoSources, req.Pos, "no file matches %q: no guard is reviewed",
			strings.Join(req.Patterns, ", ")).
			Path("targets.mcpnest.sources")
	}
	var guards []guard
	onTools := map[string]bool{}
	for _, name := range names {
		data, err := read(req.Files, name)
		if err != nil {
			diags.Warnf(diag.UnreadableFile, diag.Pos{File: name}, "%v: its guards are not reviewed", err)
			continue
		}
		tokens := scan(name, data)
		guards = append(guards, guardsOf(tokens)...)
		toolGuards(tokens, onTools)
	}
	for _, g := range guards {
		if at, ok := g.trusted(); ok {
			diags.Warnf(codeTrustsBody, at, "%s decides by what the caller writes", g).
				Hint("decide by request.user, which a verified token has set").
				Target("mcpnest")
		}
		if at, ok := g.request(); ok && req.Version != 1 && onTools[g.name] {
			diags.Warnf(codeTrustsArguments, at,
				"%s gets the tool's arguments from switchToHttp(), with any user in them", g).
				Hint("context.switchToRpc().getContext<McpContext>().getRawRequest() is the request").
				Target("mcpnest")
		}
	}
	return diags
}

func matches(files fs.FS, patterns []string) []string {
	var out []string
	for _, p := range patterns {
		found, err := doublestar.Glob(files, path.Clean(p), doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err != nil {
			continue // no file matches a pattern that cannot be read
		}
		out = append(out, found...)
	}
	out = slices.DeleteFunc(out, func(name string) bool {
		return strings.HasSuffix(name, ".d.ts") || slices.Contains(strings.Split(name, "/"), "node_modules")
	})
	slices.Sort(out)
	return slices.Compact(out)
}

func read(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, errors.New("the file is larger than 1 MB")
	}
	data, err := fs.ReadFile(files, name)
	if err == nil && bytes.IndexByte(data, 0) >= 0 {
		err = errors.New("the file is not text")
	}
	return data, err
}
