package lint

import (
	"cmp"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// All returns the rules, those of the targets included, sorted by name.
func All(targets []contract.Target) []Rule {
	rules := general()
	for _, t := range targets {
		if l, ok := t.(contract.Linter); ok {
			for _, r := range l.LintRules() {
				rules = append(rules, ofTarget(t.Name(), r))
			}
		}
	}
	for _, t := range targets {
		if r, ok := t.(contract.Reviewer); ok {
			for _, rule := range r.ReviewRules() {
				rules = append(rules, ofReview(t.Name(), rule))
			}
		}
	}
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return rules
}

// ofTarget returns a rule that looks at the rules in a target's own grammar.
func ofTarget(target string, r contract.LintRule) Rule {
	check := func(p *pass) {
		for i := range p.Project.Roles {
			role := &p.Project.Roles[i]
			for _, n := range role.Native {
				if n.Target != target || !ofSource(n.Pos) || !own(n.From) {
					continue
				}
				if problem, hint := r.Native(n); problem != "" {
					p.find(n.Pos, "%s", problem).Subject("role " + role.Name).Hint(hint)
				}
			}
		}
	}
	return Rule{ID: r.ID, Severity: r.Severity, Doc: r.Doc, Bad: r.Bad, Good: r.Good, check: check}
}

// ofReview returns a rule that a target looks for in code of the project.
func ofReview(target string, r contract.LintRule) Rule {
	check := func(p *pass) {
		for _, d := range p.Reviewed {
			if d.Code == r.ID {
				d.Severity = p.severity
				p.found = append(p.found, Finding{Diagnostic: d})
			}
		}
	}
	return Rule{ID: r.ID, Severity: r.Severity, Doc: r.Doc, Bad: r.Bad, Good: r.Good, Review: target, check: check}
}

// mode returns an example of a mode that may do some things.
func mode(can string) string {
	return `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", can: ` + can + `}`
}

// role returns an example of a role that may do some things.
func role(can string) string { return `roles: r: can: ` + can }

// general returns the rules that look at the neutral vocabulary.
func general() []Rule {
	return slices.Concat(permissionRules(), redundancyRules(), patternRules(), inventoryRules(), commentRules())
}

// permissionRules find permissions that are broader, or narrower, than they look.
func permissionRules() []Rule {
	return []Rule{{
		ID: "bypass-permissions", Severity: diag.Warning, check: (*pass).bypass,
		Doc: "A role has the permission mode bypassPermissions. " +
			"It allows everything that the role does not mention without a question, " +
			"and Claude Code skips its own protections. " +
			"Write what the role needs, with acceptEdits or dontAsk.",
		Bad:  `roles: r: permissionMode: "bypassPermissions"`,
		Good: `roles: r: permissionMode: "acceptEdits"`,
	}, {
		ID: "command-defeats-edit", Severity: diag.Warning, check: (*pass).commandDefeatsEdit,
		Doc: "A subject may edit some files only, and may run any command without a question: " +
			"a command can write every file. List the commands that it needs, or ask about them.",
		Bad:  mode(`{edit: {allow: ["docs/**"]}, command: "allow"}`),
		Good: mode(`{edit: {allow: ["docs/**"]}, command: {allow: ["npm test"], default: "ask"}}`),
	}, {
		ID: "destructive-allowed", Severity: diag.Warning, check: (*pass).destructive,
		Doc: "A tool whose risk is destructive is allowed without a question. " +
			"Put it under ask, so that a person confirms each call; \"@destructive\" names all such tools.",
		Bad: `servers: db: {command: "db", tools: drop: risk: "destructive"}
roles: r: can: mcp: db: "allow"`,
		Good: `servers: db: {command: "db", tools: drop: risk: "destructive"}
roles: r: can: mcp: db: {ask: ["@destructive"], default: "allow"}`,
	}, {
		ID: "dont-ask-nothing", Severity: diag.Warning, check: (*pass).dontAsk,
		Doc: "A role has the permission mode dontAsk, which refuses whatever is not allowed, " +
			"and allows nothing: it can do nothing at all. Allow what the role is for.",
		Bad:  `roles: r: permissionMode: "dontAsk"`,
		Good: `roles: r: {permissionMode: "dontAsk", can: read: "allow"}`,
	}, {
		ID: "git-shows-history", Severity: diag.Note, check: (*pass).gitShowsHistory,
		Doc: "A subject may not read some files, and may run what @git_read allows. " +
			"git log -p, git show and git diff print what was committed, of those files too. " +
			"What git ignores never gets there.",
		Bad:  role(`{read: {allow: ["**"], deny: [".env"]}, command: {allow: ["@git_read"], default: "ask"}}`),
		Good: role(`{read: {allow: ["**"], deny: [".env"]}, command: {allow: ["git status *"], default: "ask"}}`),
	}, {
		ID: "over-broad-allow", Severity: diag.Warning, check: (*pass).overBroad,
		Doc: "Everything in a group is allowed without a question: " +
			"any command, an edit of any file, or every tool of every server, now and in the future. " +
			"List what the subject needs and ask about the rest.",
		Bad:  role(`command: "allow"`),
		Good: role(`command: {allow: ["npm test"], default: "ask"}`),
	}, {
		ID: "silent-writer", Severity: diag.Note, check: (*pass).silentWriters,
		Doc: "A subject may edit nothing, and leaves commands, MCP tools or unknown tools to the agent: " +
			"what the agent allows by itself there may still write files. " +
			"Say what the subject may run, or close the rest with default: \"ask\" or \"deny\".",
		Bad:  role(`{read: "allow", edit: "deny"}`),
		Good: role(`{read: "allow", edit: "deny", default: "ask"}`),
	}, {
		ID: "writes-instructions", Severity: diag.Note, check: (*pass).writesInstructions,
		Doc: "A subject may edit the files that instruct every agent, CLAUDE.md or AGENTS.md, without a question. " +
			"Agents write them every day, so that nothing guards them; " +
			"but what stands there steers the next session. Ask about them where that matters.",
		Bad:  role(`edit: {allow: ["**"], default: "ask"}`),
		Good: role(`edit: {allow: ["**"], ask: ["CLAUDE.md", "AGENTS.md"], default: "ask"}`),
	}, reachRule(), deniedReadsRule()}
}

// redundancyRules find rules that decide nothing.
func redundancyRules() []Rule {
	return []Rule{{
		ID: "duplicate-rule", Severity: diag.Warning, Fixable: true, check: (*pass).duplicates,
		Doc:  "A list names a pattern twice. The second one decides nothing.",
		Bad:  role(`command: {allow: ["npm test", "npm ci", "npm test"], default: "ask"}`),
		Good: role(`command: {allow: ["npm test", "npm ci"], default: "ask"}`),
	}, {
		ID: "shadowed-rule", Severity: diag.Note, Fixable: true, check: (*pass).shadowed,
		Doc: "A rule decides nothing, because a broader one in the same list matches everything that it matches. " +
			"Remove one of them.",
		Bad:  role(`command: {allow: ["git *", "git status"], default: "ask"}`),
		Good: role(`command: {allow: ["git *"], default: "ask"}`),
	}, {
		ID: "void-rule", Severity: diag.Warning, Fixable: true, check: (*pass).void,
		Doc: "An allow or an ask never applies: a stricter rule of the same group " +
			"(a deny, or an ask where this one allows) matches everything that it matches, " +
			"and the stricter one always wins, in any order. Remove the rule, or make the stricter one narrower.",
		Bad:  role(`command: {allow: ["git push origin"], deny: ["git push *"], default: "ask"}`),
		Good: role(`command: {allow: ["git status"], deny: ["git push *"], default: "ask"}`),
	}}
}

// patternRules find patterns that do not mean what they look like.
func patternRules() []Rule {
	return []Rule{{
		ID: "absolute-path", Severity: diag.Warning, check: (*pass).absolutePaths,
		Doc: "A path pattern begins with a slash and the name of a folder of the system, as \"/etc/**\" does. " +
			"A leading slash is the project's root, so that the pattern matches nothing outside of it. " +
			"Write the path from the project's root, or use can.outside, which decides about everything else.",
		Bad:  mode(`read: {allow: ["**"], deny: ["/etc/**"]}`),
		Good: mode(`read: {allow: ["src/**"], deny: ["/secrets/**"]}`),
	}, {
		ID: "never-allowed", Severity: diag.Warning, check: (*pass).neverAllowed,
		Doc: "A pattern of commands in an allow list allows nothing that is written like it. " +
			"Each command of a line is judged by itself, and a list allows plain lines only: " +
			"no \"&&\" or redirect is a part of a command, and a line with an unquoted $NAME, ~ or ? is asked about.",
		Bad:  role(`command: {allow: ["git pull && npm ci", "echo $HOME"], default: "ask"}`),
		Good: role(`command: {allow: ["git pull", "npm ci", "echo *"], default: "ask"}`),
	}, {
		ID: "regex-outside-edit", Severity: diag.Warning, check: (*pass).regexOutsideEdit,
		Doc: "A regular expression decides about reading. Roo has a fileRegex for edits only, " +
			"so that its modes lose the whole group; other targets translate globs better as well. Write a glob.",
		Bad:  mode(`read: {allow: [{regex: "\\.md$"}]}`),
		Good: mode(`edit: {allow: [{regex: "\\.md$"}]}`),
	}, {
		ID: "slow-regex", Severity: diag.Warning, check: (*pass).slowRegex,
		Doc: "A regular expression repeats a repetition, as (a+)+ does. " +
			"On some paths an engine that backtracks, such as Roo's, takes longer than anybody waits. " +
			"modec stops after a time limit and denies; Roo does not stop. Repeat once.",
		Bad:  mode(`edit: {allow: [{regex: "^(a+)+$"}]}`),
		Good: mode(`edit: {allow: [{regex: "^a+$"}]}`),
	}}
}

// inventoryRules find servers, tools, policies and texts that are unused, unsafe or too long.
func inventoryRules() []Rule {
	return []Rule{{
		ID: "long-prompt", Severity: diag.Warning, check: (*pass).longPrompts,
		Doc: "A prompt is longer than prompt_limit of [lint] (32,000 bytes by default). " +
			"Every request pays for it, and agents follow the middle of a long text less. " +
			"Move what is rarely needed into rules files or documents.",
		Good: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "w"}`,
	}, {
		ID: "missing-when-to-use", Severity: diag.Note, check: (*pass).whenToUse,
		Doc: "A mode has no whenToUse. Agents choose a mode, and Claude Code a subagent, by that text. " +
			"Without it they use the description, or do not choose the mode at all.",
		Bad:  `modes: m: {name: "M", roleDefinition: "r"}`,
		Good: `modes: m: {name: "M", roleDefinition: "r", whenToUse: "When x."}`,
	}, {
		ID: "same-name", Severity: diag.Note, check: (*pass).sameName,
		Doc: "Two servers, modes or roles have one name in the files of different targets (as), because two agents " +
			"defined the same in different ways. Where one definition does for both, keep it, with both targets, " +
			"and remove the other one and its as.",
		Bad: `servers: {
	docs: {command: "docs-mcp", targets: ["roo"]}
	"docs-claude": {url: "https://docs.example.com/mcp", targets: ["claude"], as: "docs"}
}`,
		Good: `servers: docs: {command: "docs-mcp", targets: ["claude", "roo"]}`,
	}, {
		ID: "secret-literal", Severity: diag.Error, check: (*pass).secrets,
		Doc: "A header, a variable, an argument or the address of a server, the environment of a role, a prompt or a " +
			"pattern contains what looks like a secret. " +
			"The source is committed, and every agent's configuration repeats it. " +
			"Write ${NAME} and set the variable where the agent runs; " +
			"then revoke the secret, because the history keeps it.",
		Bad: `servers: s: {
	url: "https://x.example/mcp"
	headers: Authorization: "Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345"
}`,
		Good: `servers: s: {url: "https://x.example/mcp", headers: Authorization: "Bearer ${GITHUB_TOKEN}"}`,
	}, {
		ID: "server-stays-off", Severity: diag.Warning, check: (*pass).staysOff,
		Doc: "A mode's allowedTools names a tool of a server that is off by default, and its allowedServers does not " +
			"name the server. An entry of allowedTools alone opens no server: the tool is not available. " +
			"Name the server in allowedServers, beside the others that the mode uses.",
		Bad: `servers: s: {command: "s", defaultEnabled: false, tools: get: risk: "read"}
modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", mcpRestrictions: {
	allowedTools: [{serverName: "s", toolName: "get"}]
}}`,
		Good: `servers: s: {command: "s", defaultEnabled: false, tools: get: risk: "read"}
modes: m: {name: "M", roleDefinition: "r", whenToUse: "w", mcpRestrictions: {
	allowedServers: ["s"]
	allowedTools: [{serverName: "s", toolName: "get"}]
}}`,
	}, {
		ID: "unused-policy", Severity: diag.Warning, check: (*pass).unusedPolicies,
		Doc: "Nothing extends a policy, so that what it denies is denied to nobody. Extend it, or remove it.",
		Bad: `policies: p: can: edit: "deny"`,
		Good: `policies: p: can: edit: "deny"
roles: r: extends: ["p"]`,
	}, {
		ID: "unused-server", Severity: diag.Note, check: (*pass).unusedServers,
		Doc: "No subject may use a server of the inventory. Targets leave it out, or write it as disabled. " +
			"Say who may use it, or remove it.",
		Bad: `servers: s: {command: "s"}
roles: r: can: mcp: "deny"`,
		Good: `servers: s: {command: "s"}
roles: r: can: mcp: s: "ask"`,
	}, {
		ID: "unused-tool", Severity: diag.Note, check: (*pass).unusedTools,
		Doc: "A server is in use, but no subject may call one of its tools and no rule names that tool: " +
			"the inventory may be out of date, or the tool forgotten. Name it in a list, for example under deny.",
		Bad: `servers: s: {command: "s", tools: {a: {}, b: {}}}
roles: r: can: mcp: {default: "deny", s: {allow: ["a"], default: "deny"}}`,
		Good: `servers: s: {command: "s", tools: {a: {}, b: {}}}
roles: r: can: mcp: {default: "deny", s: {allow: ["a"], deny: ["b"], default: "deny"}}`,
	}}
}

// commentRules find comments that silence nothing.
func commentRules() []Rule {
	return []Rule{{
		ID: reasonlessIgnore, Severity: diag.Warning,
		Doc: "A comment // modec:ignore RULE gives no reason. Without one it silences nothing: " +
			"whoever reads it next has to know why.",
		Bad: `roles: r: permissionMode: "bypassPermissions" // modec:ignore bypass-permissions`,
		Good: `roles: r: permissionMode: "bypassPermissions" ` +
			`// modec:ignore bypass-permissions it runs in a throw-away machine`,
	}, {
		ID: unknownIgnore, Severity: diag.Warning,
		Doc: "A comment // modec:ignore names a rule that does not exist, so that it silences nothing. " +
			"`modec lint --rules` lists the rules.",
		Bad:  "// modec:ignore no-such-rule because\nroles: r: {}",
		Good: `roles: r: {}`,
	}, {
		ID: unusedIgnore, Severity: diag.Warning,
		Doc: "A comment // modec:ignore RULE stands where the rule finds nothing. " +
			"What it silenced has changed since, and it would hide the next finding. Remove it.",
		Bad:  "// modec:ignore bypass-permissions it is new\nroles: r: {}",
		Good: `roles: r: {}`,
	}}
}
