package compiler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/compiler/resolve"
	"modec.dev/modec/compiler/shape"
	"modec.dev/modec/compiler/source"
)

// onlyHoldBack reports modes that may do more because of the MCP restrictions in files of modec serve, which stand in
// the place of those that the rest of the source says.
func onlyHoldBack(
	ctx context.Context, files fs.FS, cfg *config.Config, known []contract.Target, with *policy.Engine,
) (diags diag.List) {
	var tree *source.Tree
	var data *source.Node
	var usable bool
	var list diag.List
	if stopped := evaluate(ctx, cfg.Source, func() {
		if tree, list = source.LoadUnserved(files, cfg.Source); !list.HasErrors() {
			data, usable, list = shape.Check(tree.Root)
		}
	}); stopped != nil {
		return stopped
	}
	if !usable || list.HasErrors() {
		return list // of what is overridden, or of what refers to it
	}
	project, list := resolve.Resolve(data, tree.Texts, settings(cfg, known))
	if list.HasErrors() {
		return list
	}
	refuse := func(md *ir.Mode, format string, args ...any) {
		diags.Errorf(diag.Wider, md.Restrictions.Pos, format+": restrictions only hold back", args...).
			Path(diag.Join("modes", diag.Label(md.Slug))+".mcpRestrictions").
			Hint("say in can.mcp of the mode what it may use").
			Related(md.Pos, "the mode")
	}
	// Restrictions let a mode ask for what they do not hold back, one that does not mention MCP too.
	for i := range project.Modes {
		was, is := &project.Modes[i], with.Project().Mode(project.Modes[i].Slug)
		silent := was.Can.MCP == nil && was.Can.Default == nil && was.Restrictions == nil
		if is != nil && is.Restrictions != nil && silent {
			refuse(is, "mode %q says nothing of MCP, and restrictions would let it ask", was.Slug)
		}
	}
	if diags.HasErrors() {
		return diags
	}
	before := policy.New(project)
	for i := range project.Modes {
		slug := project.Modes[i].Slug
		md := with.Project().Mode(slug)
		ref := ir.SubjectRef{Mode: slug}
		if md == nil || md.Restrictions == nil || before.Digest(ref) == with.Digest(ref) {
			continue
		}
		for _, target := range append(project.Agents(), "") {
			what, err := opened(before.On(target), with.On(target), ref)
			if err != nil {
				what = fmt.Sprintf("mode %q cannot be compared with the source (%v)", slug, err)
			}
			if what != "" {
				refuse(md, "%s", what)
				break
			}
		}
	}
	return diags
}

// toolNames are the letters of which names of tools are compared.
var toolNames = regexlang.SetOf(func(r rune) bool { return r > ' ' && r != 0x7f })

// opened returns something of MCP that a subject may do more freely by another engine; "" where there is nothing.
func opened(before, after *policy.Engine, ref ir.SubjectRef) (string, error) {
	was, err := before.Subject(ref)
	if err != nil {
		return "", err
	}
	is, err := after.Subject(ref)
	if err != nil {
		return "", err
	}
	servers := append([]ir.Server{{Name: contract.UnknownServer}}, before.Project().Servers...)
	for _, sv := range servers {
		names, err := toolsApart(was, is, sv.Name)
		if err != nil {
			return "", err
		}
		for _, t := range sv.Tools { // some rules are about the risk of those that are listed
			names = append(names, t.Name)
		}
		for _, name := range names {
			for _, kind := range []policy.MCPKind{policy.Tool, policy.Resource, policy.Prompt} {
				x := policy.Action{Group: ir.MCP, Kind: kind, Server: sv.Name, Arg: name}
				if had, has := was.Decide(x).Decision, is.Decide(x).Decision; has > had {
					return fmt.Sprintf("%s would become %s, from %s", named(sv.Name, name), has, had), nil
				}
			}
		}
	}
	return "", nil
}

// named names a tool for people.
func named(server, tool string) string {
	switch {
	case server == contract.UnknownServer:
		return "another server"
	case tool == contract.UnknownTool:
		return "any other tool of " + server
	}
	return server + ":" + tool
}

// toolsApart returns a name of each kind of tools that the rules of two subjects tell apart.
func toolsApart(was, is *policy.Subject, server string) ([]string, error) {
	sp := regexlang.New(toolNames)
	of := policy.Field{Group: ir.MCP, Server: server}
	a, err := was.Languages(sp, of)
	if err != nil {
		return nil, err
	}
	b, err := is.Languages(sp, of)
	if err != nil {
		return nil, err
	}
	cells, ok := sp.Cells(sp.Without(regexlang.All, regexlang.Empty), regexlang.MostStates, append(a, b...))
	if !ok {
		return nil, errors.New("its patterns of tools are too many")
	}
	names := []string{contract.UnknownTool}
	for _, c := range cells {
		names = append(names, c.Text)
	}
	return names, nil
}
