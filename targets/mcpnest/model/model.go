// Package model answers what an application with modec's stubs for MCP-Nest does: who
// sees a tool in a list, and who may call it.
//
// [Open] reads the tables beside the code. What the code does with them is known by the
// digest of guards.ts alone: the end-to-end tests run each known version in an
// application on the real package, and any other code may permit everything.
package model

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest/format"
)

const codeUnknownCode diag.Code = "mcpnest-unknown-code"

// Codes documents the codes that Open reports.
func Codes() []diag.Doc {
	return []diag.Doc{
		{Code: codeUnknownCode, Text: "The guards beside the policy table are not those that this modec emits. " +
			"Verify knows what its own code does, because the tests run it in real applications, and takes any other " +
			"for code that permits everything. Build again; where an application needs guards of its own, put them " +
			"beside the emitted ones."},
	}
}

// code is a version of the emitted TypeScript whose meaning is known.
type code struct {
	major    int  // of MCP-Nest
	strategy bool // it demands PolicyMcpStrategy
}

// knownCode finds the code by the SHA-256 of guards.ts. The code contains no name of a
// source, so that there are few versions.
var knownCode = map[string]code{
	"b0dcf41a6b1d741331191baffb70641c384b87a506da37d8ff5cb0082bfa6fc7": {major: 1},
	"81612a0977223043ffc48e2071accfdc6fee87ffd6c6ecd19d45b9932754cfa4": {major: 1},
	"5d421f2928b318518cf0768a07103904312e1c16315cca0101dbd94497708aae": {major: 2},
	"15bc4cbc46c0fc6215134574320998b346c4b0f608e66b77ff3caf2dbf26e1bc": {major: 2},
	"77de1fc82c7308c601be96f228925f963f7c83104847fd37c975b5dde8fbc985": {major: 2, strategy: true},
	"df973c3d410fe223620fd0536a0886b8f57dab30df091744c3b88dd834bcef5a": {major: 2, strategy: true},
}

// knownStrategy are the SHA-256 of strategy.ts, with and without ".js".
var knownStrategy = []string{
	"e93fba73cf0f55593a41406c759e71a2d4e6fa85155d3914ee692c0aad934fb0",
	"ba879af80c56d2ecd2d80a70bdb818998e82c2f07176591902794bf9dba8c22c",
}

// surface is a method of MCP.
type surface string

const (
	toolsList surface = "list" // what tools/list shows
	toolsCall surface = "call" // what tools/call runs
)

// decider answers as an application with the emitted stubs does.
type decider struct {
	surface surface
	servers []string
	known   bool // the code is one whose meaning is known
	code
	roles map[string]map[string][]string // accepted values, by role and claim
	tools map[string]row
	at    diag.Pos // of the table
}

// row is a row of the table TOOL_POLICY.
type row struct {
	roles  []string
	hidden bool // @ToolRoles filters by listed
	listed []string
	at     diag.Pos
}

// Open reads the tables and checks that the code beside them is known.
func Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	var diags diag.List
	data, err := fs.ReadFile(fsys, format.Policy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // an application without stubs: nothing holds it, and nothing was emitted
	}
	d := decider{servers: o.Strings("servers"), at: diag.Pos{File: format.Policy}}
	if err == nil {
		err = d.read(data)
	}
	if err != nil {
		diags.Errorf(diag.UnreadableArtifact, d.at, "%v", err)
		return nil, diags
	}
	d.code, d.known = knownCode[digestOf(fsys, format.Guards)]
	if d.known && d.strategy {
		d.known = slices.Contains(knownStrategy, digestOf(fsys, format.Strategy))
	}
	if !d.known {
		diags.Warnf(codeUnknownCode, diag.Pos{File: format.Guards}, "got guards that this modec did not emit: "+
			"what they permit is not known, and everything is taken for permitted").
			Hint("`modec build` rewrites them").
			Target("mcpnest")
	}
	list, call := d, d
	list.surface, call.surface = toolsList, toolsCall
	return []contract.Decider{&list, &call}, diags
}

func digestOf(fsys fs.FS, name string) string {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (d *decider) read(data []byte) error {
	claims, err := format.Constant(format.Policy, data, "ROLE_CLAIMS")
	if err != nil {
		return err
	}
	d.roles = map[string]map[string][]string{}
	for _, role := range claims.Members {
		accepted := map[string][]string{}
		for _, c := range role.Value.Members {
			accepted[c.Key] = c.Value.Strings()
		}
		d.roles[role.Key] = accepted
	}
	policies, err := format.Constant(format.Policy, data, "TOOL_POLICY")
	if err != nil {
		return err
	}
	d.at = policies.Pos
	d.tools = map[string]row{}
	for _, t := range policies.Members {
		d.tools[t.Key] = row{roles: t.Value.Get("roles").Strings(), hidden: t.Value.Get("hidden").True(),
			listed: t.Value.Get("listed").Strings(), at: t.Pos}
	}
	return nil
}

func (d *decider) Surface() string { return string(d.surface) }

func (d *decider) Assumes() []string {
	return []string{
		"a guard of the application sets request.user to the claims of a verified token",
		"every tool of the policy carries its decorator, and assertPolicy has run at start-up",
	}
}

// Decide knows no subject: people come with claims.
func (d *decider) Decide(ir.SubjectRef, policy.Action) contract.Verdict { return contract.Verdict{} }

// DecidePerson decides for a principal with these claims: the guards and, in 2.x,
// @ToolRoles must both let a call pass; a list shows what @ToolRoles or the
// strategy lets through (MCP-Nest 2.0.5 tool-authorization.service.ts, 1.9.11
// mcp-tools.handler.ts).
func (d *decider) DecidePerson(person map[string][]string, a policy.Action) contract.Verdict {
	if a.Group != ir.MCP || a.Kind != policy.Tool || !slices.Contains(d.servers, a.Server) {
		return contract.Verdict{}
	}
	v := contract.Verdict{Answer: contract.Answer{Governs: contract.Access, At: d.at, Rule: "TOOL_POLICY"}}
	if !d.known {
		v.Decision, v.At, v.Rule = ir.Allow, diag.Pos{File: format.Guards}, "unknown code"
		return v
	}
	t, ok := d.tools[a.Arg]
	if !ok {
		return v // assertPolicy refuses to start
	}
	v.At = t.at
	guarded := slices.ContainsFunc(t.roles, func(role string) bool { return d.holds(person, role) })
	listed := func(role string) bool { return slices.Contains(t.listed, role) }
	shown := !t.hidden || slices.ContainsFunc(person["roles"], listed)
	pass := guarded
	if d.major == 2 {
		pass = shown && (guarded || d.surface == toolsList && !d.strategy) // no guard runs for a list
	}
	if pass {
		v.Decision = ir.Allow
	}
	return v
}

// holds reports whether a principal has a role: one value of each of its claims.
func (d *decider) holds(person map[string][]string, role string) bool {
	claims := d.roles[role]
	for claim, accepted := range claims {
		if !slices.ContainsFunc(person[claim], func(v string) bool { return slices.Contains(accepted, v) }) {
			return false
		}
	}
	return len(claims) > 0
}
