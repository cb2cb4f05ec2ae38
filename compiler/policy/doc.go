// Package policy decides what a subject may do. It is the one place where the
// meaning of the source is written; lint, explain, verify, the hooks, the MCP
// server and every target ask it.
//
// A subject is a mode, a role, or a role working in a mode. An [Action] is one
// thing that an agent may try: read a path, edit a path, run a command line,
// fetch from a host, call a tool of an MCP server, enter a mode. The answer is
// deny, ask or allow, or agent where the source leaves the action to the agent,
// with the rule that decided and where it is written:
//
//	e := policy.New(project)
//	s, err := e.Subject(ir.SubjectRef{Mode: "architect"})
//	r := s.Decide(policy.Action{Group: ir.Edit, Arg: "docs/plan.md"})
//
// The rules, in the order in which a reader meets them:
//
// # 1. Precedence
//
// All rules of the action's group count, inherited ones too. If any deny
// matches the answer is deny; else if any ask matches it is ask; else if any
// allow matches it is allow; else the default decides. Neither the order of
// the rules nor how specific they are matters, so adding a deny can never
// permit more.
//
// # 2. Defaults, and what is unsaid
//
// A bare "deny" is a rule that matches everything; a bare "ask", "allow" or
// "agent" is a default. Where no rule matches, the first of these decides that is
// written, own or inherited: the default of an entry of can.mcp, the default of
// the table, can.default (which covers groups that have a table too), for a role
// its permissionMode, for a role the project's unsaid. Else a mode denies, and a
// role leaves the action to the agent.
//
// A permissionMode leaves it to the agent as well, which is then in that mode. For
// an agent that lacks the mode, [Result.WithoutPermissionMode] returns what the mode means there:
//
//	default, plan, auto   read allow, the rest ask
//	acceptEdits           read and edit allow, the rest ask
//	dontAsk               deny
//	bypassPermissions     allow
//
// A permissionMode never changes what is written. In every comparison agent is the
// most permissive decision. Where one action needs two decisions, as a redirect
// does, see [ir.Both].
//
// For a target the subject has the rules of agents.NAME.can too, and a default there takes
// the place of its own: see [Engine.On].
//
// # 3. MCP
//
// Every entry of can.mcp whose key equals or globs the server counts. A server
// that is off by default stays denied until an entry with its literal name
// holds an ask or an allow: no default, no "*" and no other glob opens it. If
// no rule matches, the written default of the literal entry decides, then the
// lowest one of the globs, then can.mcp.default, then 2. "@read", "@write" and "@destructive"
// match the inventory's risk; a tool of unknown risk matches @write and
// @destructive in deny and ask, and nothing in allow. Resources and prompts
// follow the server's default and may say less; a bare deny and a "*" in deny
// or ask holds for them too.
//
// A rule over tools may have arguments ([ir.Args]), a glob over the text of each: it matches the calls that
// have all of them. One that is missing, is an object or a list, or that programs read in different ways, matches
// in deny and ask, and does not in allow; deny and ask compare case-folded. Where the arguments are not
// known, as in agents' files, an allow with arguments asks, unless another one has the tool.
//
// A mode's mcpRestrictions only hold back: what they leave available is what
// can.mcp says, else can.default, else ask.
//
// # 4. Files
//
// Globs are doublestar globs: "**", "*", "?", "[…]", "{a,b}"; dot files match.
// A pattern without "/" holds at any depth, one with a leading or inner "/" is
// anchored at the root: no wildcard that an allow of these begins with stands for "..", "~" or
// what else leads out of it. An allow must match the whole path and reaches below a
// directory as "dir/" or "dir/**" only (which match the directory too). A deny
// or ask also holds for everything below a directory that it matches, and
// compares case-folded in Unicode NFC ([Fold]), pattern and path alike.
//
// A regex is ECMAScript as package ecma reads it, unanchored, tested on the cleaned
// path ("." for the root itself). One that takes longer than [RegexTimeout]
// counts as matched in deny and ask and as unmatched in allow, and one that does so
// again and again is not tried any more.
//
// Paths are relative to the root and cleaned first. A path that leaves the
// root ("..", absolute, "~", a drive letter, a UNC prefix, a NUL) is never
// decided above can.outside: deny for edit; for read, deny for a mode and ask
// for a role. Where it is not written and the group leaves the rest to the agent, a
// deny or an ask holds outside as it does inside, and no allow does.
//
// A path with a backslash is decided as POSIX and as Windows read it, and the lower holds.
//
// Where the disk is at hand ([Place]), a file is decided by each of its names, and the lowest
// decision holds: as it is written, mapped into the root from an absolute path and from "~", and with
// its links resolved, those before a ".." too. A file in the user's home is decided as "~/NAME" too,
// however it is written. What the system shows of a process (/proc/N/cwd/x, /dev/fd/3, /dev/stdin/x)
// may be any file and is refused, the standard streams by their own names aside.
//
// There no list allows a path that is not plain, since some file system takes it for another one: with
// a short name of Windows ("SECRET~1"), a dot or a space at the end of a name, a full-width letter, or
// a character that nobody sees. It is denied where its group has a deny, and asked about where it has an
// ask. A name of nothing but dots and spaces is outside. Behind ":" Windows has a stream of a file, so
// that ".env:x" is decided as ".env" too.
//
// # 5. Commands
//
// A line is parsed as bash into its simple commands: those of lists,
// pipelines, compound commands, functions, substitutions and nested shells
// (sh -c, eval, trap, a here-document fed to a shell). The line's decision is
// the lowest among them. See [CheckCommand] for the grammar of patterns.
//
// Words are compared after quote removal and joined by single spaces. A space
// inside a word is not a space between words: an allow for "git status" does
// not allow the program "git status". What is known at run time only (a
// variable, a file glob, a brace expansion) matches whatever it could become in
// deny and ask, and only a "*" in allow. A word in whose place a shell may put names of files, or
// nothing ("*.go", and in zsh with EXTENDED_GLOB "HEAD~1"), is in an allow that takes anything
// behind the words before it ("git diff *"). The text of "$(cat <<'EOF' … )" is known.
//
// Deny and ask are tried on the text, and on what the text runs: without
// assignments, with the program's bare name in lower case, without git's global
// options, and on every tail of a command that runs another (sudo, env, xargs,
// find -exec, …). An allow strips only timeout, time, nice, nohup and stdbuf.
// An assignment, an export and a loop over a variable such as PATH are judged
// like commands: what they set changes what the next command is.
//
// Only a plain line is ever allowed by a list: one that every shell reads alike, by the
// grammar that file plain.go has with its reasons. Any other line (a comment, a variable but
// "$NAME", an assignment, a loop, a builtin that changes what another command of the line means
// or that runs its arguments, …) is asked about at most where the group
// has a list, a deny or an ask, is left to the agent where the group is, and allowed where the
// group allows and nothing is held back in it. What it is read to run may deny it all the
// same. [Result.Odd] says that a decision is lower for this alone, and [Result.Explanation] what of the
// line made a rule decide.
//
// A line that does not parse, a command word that is not literal and a
// substitution match no entry of a list. Such a command is denied where the
// group has a deny, and asked at most elsewhere. Where the group allows and
// holds nothing back, or allows "*", it is judged by what its text could become, and a line
// that does not parse by whether the group has a deny or an ask.
//
// A redirect is also judged as an edit or a read of its path, as in 4, from every folder in
// which the command may run. Neutral are "2>&1" and the like, /dev/null, and cd to
// a literal path inside the root, links resolved (redirects after it are taken from there, and
// "./tool" is then another program, which no list allows). A line of neutral
// parts only is judged by its text.
//
// A deny or an ask of reading or editing that has a pattern reaches commands: a word, or the value of an
// option, that names such a path is decided as that path, in the way of file mentions.go. Defaults do not.
//
// What denies cannot do is hold a program that runs any code it is given
// (python -c, make, an editor): where commands are allowed by default, or by
// "*", a deny stops a habit and not an intent.
//
// "@git_read" and "@readonly_filters" say what a pattern cannot say safely: commands with the
// options that only read. Their options come from tables that the installed programs confirm:
// which exist, and which take the next word as a value. What a table does not list is not in
// the set. The files that such a command names are judged as reads: operands, the path of
// "REV:path", and the values of options that name files. A word that may be a revision or a
// path counts as both, options behind a filter's operands count as options and as files, and a
// pattern of git's own (":(top)", "*.go") is in the set only where every file is decided alike.
// Where reading is left to the agent, a word of git is not: most of them name revisions. A
// revision such as "HEAD~1" counts as the file HEAD too, and "HEAD^" as the files whose paths
// begin so, which zsh with EXTENDED_GLOB may put there, but for what a pattern holds that begins
// with a wildcard. A filter's word of this kind is not in the set.
// An entry never takes from what another one or the default says of the command, but for what a deny or an
// ask of a file says.
//
// git grep prints lines of any file: it is in the set only where every file is decided alike.
//
// The sets do not hold what git shows of its history: git log -p, git diff and git show COMMIT
// show what was committed of every file, and a blob by its hash. "REV:path" is taken from the
// root, also where the root is not the top of the repository. What git runs by its
// configuration is .git's.
//
// # 6. Web and modes
//
// A host pattern is "host", "*.host" (subdomains only) or "*". Hosts are
// lower-cased, mapped to ASCII (IDNA), IP addresses are written canonically, a
// trailing dot and a port are dropped. The model has patterns in that form ([HostPattern]), so
// that agents get no other. An argument that is not a host matches no
// entry of a list, as in 6. A mode is matched by its slug or "*". A role's
// modes list is its modes group: listed ones are allowed, others denied.
//
// # 7. Role in mode
//
// The lower of two decisions, over what each side states: a group that one
// side neither mentions nor covers with can.default is left to the other. The
// files that a filter of one side reads are judged by that side. Any stated decision is
// lower than agent, and the project's unsaid states nothing. A
// server that is off by default is open to the pair when either side names it,
// at what that side says; an explicit deny on either side wins.
//
// # 8. Persons
//
// A person holds every role whose claims fit and gets the highest of their
// decisions ([Engine.Person]). There is no agent to leave anything to: agent is deny.
//
// # 9. Unknown tools
//
// A tool that maps to no group is decided by can.unknown. Where that is not written, a role
// decides by can.default, which never allows here, and else leaves it to the agent. A mode
// denies it, unless its can.default is agent.
//
// # 10. Times
//
// An allow may have times ([ir.Times]). [Engine.At] returns the engine that counts the allows whose times include a
// moment. Every other engine counts none of them: what is built never depends on the clock. Outside of its times the
// rest of the group stands in the place of an allow; what that allows or leaves to the agent is asked about, or denied
// where a glob over servers is about one that denies the rest. An
// entry of can.mcp opens a server that is off by default at any time, and its tools only in theirs.
//
// The package never fails while it decides: patterns are checked when a
// subject is compiled, and what cannot be understood is refused.
package policy
