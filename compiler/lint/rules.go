package lint

import (
	"cmp"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// All lists the rules, those of the targets included, sorted by name.
func All(targets []contract.Target) []Rule {
	rules := general()
	for _, t := range targets {
		if l, ok := t.(contract.Linter); ok {
			for _, r := range l.LintRules() {
				rules = append(rules, ofTarget(t.Name(), r))
			}
		}
	}
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return rules
}

// ofTarget returns a rule that looks at the rules of a target's own grammar.
func ofTarget(target string, r contract.LintRule) Rule {
	check := func(p *pass) {
		for i := range p.Project.Roles {
			role := &p.Project.Roles[i]
			for _, n := range role.Native {
				if n.Target != target || !ofSource(n.Pos) || !own(n.From) {
					continue
				}
				if problem, hint := r.Native(n); problem != "" {
					p.add(n.Pos, "role "+role.Name, hint, "%s", problem)
				}
			}
		}
	}
	return Rule{ID: r.ID, Severity: r.Severity, Doc: r.Doc, Bad: r.Bad, Good: r.Good, check: check}
}

// general lists the rules that look at no target's grammar, sorted by name.
func general() []Rule {
	return []Rule{
		{ID: "absolute-path", Severity: diag.Warning, check: (*pass).absolutePaths,
			Doc: "A path pattern begins with a slash and the name of a folder of the system, as \"/etc/**\". A leading slash anchors at the project's root, so that the pattern holds nothing outside: what lies there is decided by can.outside. Say the path without the system's folder, or use can.outside.",
			Bad: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: read: {allow: ["**"], deny: ["/etc/**"]}}`, Good: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: read: {allow: ["src/**"], deny: ["/secrets/**"]}}`},
		{ID: "bypass-permissions", Severity: diag.Warning, check: (*pass).bypass,
			Doc: "A role has the permission mode bypassPermissions: what it does not mention is allowed without a question, and Claude Code skips its own protections. Write what it needs, with acceptEdits or dontAsk.",
			Bad: `roles: r: permissionMode: "bypassPermissions"`, Good: `roles: r: permissionMode: "acceptEdits"`},
		{ID: "command-defeats-edit", Severity: diag.Warning, check: (*pass).commandDefeatsEdit,
			Doc: "A subject may edit some files only, and runs any command without a question: a command can write every file. List the commands that it needs, or ask about them.",
			Bad: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: {edit: {allow: ["docs/**"]}, command: "allow"}}`, Good: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: {edit: {allow: ["docs/**"]}, command: {allow: ["npm test"], default: "ask"}}}`},
		{ID: "destructive-allowed", Severity: diag.Warning, check: (*pass).destructive,
			Doc: "A tool whose risk is destructive is allowed without a question. Put it under ask (\"@destructive\" stands for all of them), so that a person confirms each call.",
			Bad: `servers: db: {command: "db", tools: drop: risk: "destructive"}
roles: r: can: mcp: db: "allow"`, Good: `servers: db: {command: "db", tools: drop: risk: "destructive"}
roles: r: can: mcp: db: {ask: ["@destructive"], default: "allow"}`},
		{ID: "dont-ask-nothing", Severity: diag.Warning, check: (*pass).dontAsk,
			Doc: "A role has the permission mode dontAsk and allows nothing: whatever it would be asked about is refused, so that it can do nothing at all. Allow what it is for.",
			Bad: `roles: r: permissionMode: "dontAsk"`, Good: `roles: r: {permissionMode: "dontAsk", can: read: "allow"}`},
		{ID: "duplicate-rule", Severity: diag.Warning, Fixable: true, check: (*pass).duplicates,
			Doc: "A list names a pattern twice. The second one decides nothing.",
			Bad: `roles: r: can: command: {allow: ["npm test", "npm ci", "npm test"], default: "ask"}`, Good: `roles: r: can: command: {allow: ["npm test", "npm ci"], default: "ask"}`},
		{ID: "long-prompt", Severity: diag.Warning, check: (*pass).longPrompts,
			Doc:  "A prompt is longer than prompt_limit of [lint] (32,000 bytes by default): every request pays for it, and what stands in the middle of it is followed less. Move what is rarely needed into rules files or documents.",
			Good: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w"}`},
		{ID: "missing-when-to-use", Severity: diag.Note, check: (*pass).whenToUse,
			Doc: "A mode has no whenToUse. Agents choose a mode, and Claude Code a subagent, by that text; without it they go by the description or do not choose it at all.",
			Bad: `modes: m: {name: "M", roleDefinition: "r"}`, Good: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "When x."}`},
		{ID: "over-broad-allow", Severity: diag.Warning, check: (*pass).overBroad,
			Doc: "Everything of a group is allowed without a question: any command, an edit of any file, every tool of every server, those of tomorrow included. List what the subject needs and ask about the rest.",
			Bad: `roles: r: can: command: "allow"`, Good: `roles: r: can: command: {allow: ["npm test"], default: "ask"}`},
		{ID: "reasonless-ignore", Severity: diag.Warning,
			Doc: "A comment // modec:ignore RULE gives no reason. It silences nothing until it does: whoever reads it next has to know why.",
			Bad: `roles: r: permissionMode: "bypassPermissions" // modec:ignore bypass-permissions`, Good: `roles: r: permissionMode: "bypassPermissions" // modec:ignore bypass-permissions it runs in a throw-away machine`},
		{ID: "regex-outside-edit", Severity: diag.Warning, check: (*pass).regexOutsideEdit,
			Doc: "An expression decides about reading. Roo has a fileRegex for edits alone, so that its modes lose the whole group; and other targets translate globs better. Write a glob.",
			Bad: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: read: {allow: [{regex: "\\.md$"}]}}`, Good: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: edit: {allow: [{regex: "\\.md$"}]}}`},
		{ID: "secret-literal", Severity: diag.Error, check: (*pass).secrets,
			Doc: "A header or a variable of a server holds what looks like a secret. The source is committed, and every agent's configuration repeats it. Write ${NAME} and set the variable where the agent runs; then revoke the secret, since history keeps it.",
			Bad: `servers: s: {url: "https://x.example/mcp", headers: Authorization: "Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345"}`, Good: `servers: s: {url: "https://x.example/mcp", headers: Authorization: "Bearer ${GITHUB_TOKEN}"}`},
		{ID: "shadowed-rule", Severity: diag.Note, Fixable: true, check: (*pass).shadowed,
			Doc: "A rule decides nothing, since a broader one of the same list matches all that it does. Take one of them out.",
			Bad: `roles: r: can: command: {allow: ["git *", "git status"], default: "ask"}`, Good: `roles: r: can: command: {allow: ["git *"], default: "ask"}`},
		{ID: "slow-regex", Severity: diag.Warning, check: (*pass).slowRegex,
			Doc: "An expression repeats a repetition, as (a+)+ does: on some paths an engine that backtracks, as Roo's, takes longer than anybody waits. modec ends it after a time limit and counts it as a deny; Roo does not. Repeat once.",
			Bad: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: edit: {allow: [{regex: "^(a+)+$"}]}}`, Good: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: edit: {allow: [{regex: "^a+$"}]}}`},
		{ID: "unknown-ignore", Severity: diag.Warning,
			Doc: "A comment // modec:ignore names no rule of `modec lint --rules`: it silences nothing.",
			Bad: "// modec:ignore no-such-rule because\nroles: r: {}", Good: `roles: r: {}`},
		{ID: "unused-ignore", Severity: diag.Warning,
			Doc: "A comment // modec:ignore RULE stands where the rule finds nothing: what it silenced was changed since, and it would hide the next one. Take it out.",
			Bad: "// modec:ignore bypass-permissions it is new\nroles: r: {}", Good: `roles: r: {}`},
		{ID: "unused-policy", Severity: diag.Warning, check: (*pass).unusedPolicies,
			Doc: "A policy is extended by nothing: what it denies is denied to nobody. Extend it, or take it out.",
			Bad: `policies: p: can: edit: "deny"`, Good: `policies: p: can: edit: "deny"
roles: r: extends: ["p"]`},
		{ID: "unused-server", Severity: diag.Note, check: (*pass).unusedServers,
			Doc: "No subject may use a server of the inventory. It is left out of every list, or written as disabled. Say who may use it, or take it out.",
			Bad: `servers: s: {command: "s"}
roles: r: can: mcp: "deny"`, Good: `servers: s: {command: "s"}
roles: r: can: mcp: s: "ask"`},
		{ID: "unused-tool", Severity: diag.Note, check: (*pass).unusedTools,
			Doc: "No subject may call a tool of a server that somebody may use, and no rule names it: the inventory may be out of date, or the tool forgotten. Name it in a list, under deny too.",
			Bad: `servers: s: {command: "s", tools: {a: {}, b: {}}}
roles: r: can: mcp: {default: "deny", s: {allow: ["a"], default: "deny"}}`, Good: `servers: s: {command: "s", tools: {a: {}, b: {}}}
roles: r: can: mcp: {default: "deny", s: {allow: ["a"], deny: ["b"], default: "deny"}}`},
		{ID: "void-rule", Severity: diag.Warning, Fixable: true, check: (*pass).void,
			Doc: "An allow or an ask is void: a deny, or for an allow an ask, of the same group matches all that it does, and the stricter one always wins, wherever it stands. Take it out, or make the other narrower.",
			Bad: `roles: r: can: command: {allow: ["git push origin"], deny: ["git push *"], default: "ask"}`, Good: `roles: r: can: command: {allow: ["git status"], deny: ["git push *"], default: "ask"}`},
	}
}
