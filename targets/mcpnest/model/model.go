// Package model decides as an application with modec's stubs for MCP-Nest does: who sees a
// tool in a list, and who may call it.
//
// [Open] reads the tables beside the code, and recognises the code by its digests: the
// end-to-end tests run each known version in an application on the real package, and any
// other code may permit everything.
package model

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest/format"
)

const codeUnknownCode diag.Code = "mcpnest-unknown-code"

//go:embed known.json
var knownJSON []byte

// knownCode is the emitted code whose meaning is known, by its file and its SHA-256: the major
// version of MCP-Nest that it is for, 0 for both. It contains no name of a source, so that
// each file has two versions, with and without ".js" in its imports.
var knownCode = sync.OnceValue(func() map[string]map[string]int {
	var known map[string]map[string]int
	if err := json.Unmarshal(knownJSON, &known); err != nil {
		panic(err) // embedded above
	}
	return known
})

// major returns the version of MCP-Nest that the code beside the tables is for, 0 where any of
// it is not known.
func major(fsys fs.FS) int {
	known := func(name string) int {
		v, ok := knownCode()[name][digestOf(fsys, name)]
		if !ok {
			v = -1
		}
		return v
	}
	version := known(format.Guards)
	enforcer := map[int]string{1: format.Module, 2: format.Strategy}[version]
	if version < 1 || known(enforcer) != version || known(format.Decide) < 0 || known(format.Tools) < 0 {
		return 0
	}
	if _, err := fs.Stat(fsys, format.Authentication); err == nil && known(format.Authentication) < 0 {
		return 0
	}
	return version
}

// decider answers as an application with the emitted stubs does.
type decider struct {
	servers []string
	known   bool // the code is one whose meaning is known
	roles   map[string]holders
	tools   map[string]row
	shared  map[policy.MCPKind][]row // of each server
	at      diag.Pos                 // of the table
}

// holders are those who have a role: by the accepted values of each claim, or a word for all.
type holders struct {
	claims map[string][]string
	word   string
}

// row is a row of a table.
type row struct {
	roles []string
	at    diag.Pos
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
	if d.known = major(fsys) > 0; !d.known {
		diags.Warnf(codeUnknownCode, diag.Pos{File: format.Guards}, "this modec did not emit the code beside the "+
			"tables: what it permits is not known, and everything is taken for permitted").
			Hint("`modec build` rewrites it").
			Target("mcpnest")
	}
	return []contract.Decider{&d}, diags
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
	d.roles = map[string]holders{}
	for _, role := range claims.Members {
		h := holders{word: role.Value.Text, claims: map[string][]string{}}
		for _, c := range role.Value.Members {
			h.claims[c.Key] = c.Value.Strings()
		}
		d.roles[role.Key] = h
	}
	policies, err := format.Constant(format.Policy, data, "TOOL_POLICY")
	if err != nil {
		return err
	}
	d.at = policies.Pos
	d.tools = map[string]row{}
	for _, t := range policies.Members {
		d.tools[t.Key] = row{roles: t.Value.Get("roles").Strings(), at: t.Pos}
	}
	others, err := format.Constant(format.Policy, data, "RESOURCE_POLICY")
	if err != nil {
		return err
	}
	d.shared = map[policy.MCPKind][]row{}
	for _, s := range others.Members {
		for kind, name := range map[policy.MCPKind]string{policy.Resource: "resources", policy.Prompt: "prompts"} {
			d.shared[kind] = append(d.shared[kind], row{roles: s.Value.Get(name).Strings(), at: s.Pos})
		}
	}
	return nil
}

// Surface returns "": what is listed and what may be called are one.
func (d *decider) Surface() string { return "" }

func (d *decider) Assumes() []string {
	return []string{
		"a guard of the application sets request.user to the claims of a verified token",
		"the application calls assertPolicy at start-up, and serves through what it asserts",
	}
}

// Decide knows no subject: principals come with claims.
func (d *decider) Decide(ir.SubjectRef, policy.Action) contract.Verdict { return contract.Verdict{} }

// DecidePerson decides for a principal with these claims: decide.ts answers a list and a call
// alike.
func (d *decider) DecidePerson(person map[string][]string, a policy.Action) contract.Verdict {
	if a.Group != ir.MCP || !slices.Contains(d.servers, a.Server) {
		return contract.Verdict{}
	}
	v := contract.Verdict{Answer: contract.Answer{Governs: contract.Access, At: d.at, Rule: "TOOL_POLICY"}}
	if !d.known {
		v.Decision, v.At, v.Rule = ir.Allow, diag.Pos{File: format.Guards}, "unknown code"
		return v
	}
	if a.Kind == policy.Tool {
		t, ok := d.tools[a.Arg]
		if !ok {
			return v // hidden, and assertPolicy refuses to start
		}
		v.At = t.at
		v.Decision = d.decision(person, t)
		return v
	}
	v.Rule = "RESOURCE_POLICY"
	v.Decision = ir.Allow
	for _, s := range d.shared[a.Kind] {
		if v.Decision = min(v.Decision, d.decision(person, s)); v.Decision == ir.Deny {
			v.At = s.at
			break
		}
	}
	if len(d.shared[a.Kind]) == 0 {
		v.Decision = ir.Deny
	}
	return v
}

func (d *decider) decision(person map[string][]string, r row) ir.Decision {
	if slices.ContainsFunc(r.roles, func(role string) bool { return d.holds(person, role) }) {
		return ir.Allow
	}
	return ir.Deny
}

// holds reports whether a principal has a role: one value of each of its claims. A principal
// without a verified token has nil.
func (d *decider) holds(person map[string][]string, role string) bool {
	h := d.roles[role]
	switch h.word {
	case "anyone":
		return true
	case "authenticated":
		return person != nil
	}
	for claim, accepted := range h.claims {
		if !slices.ContainsFunc(person[claim], func(v string) bool { return slices.Contains(accepted, v) }) {
			return false
		}
	}
	return len(h.claims) > 0
}
