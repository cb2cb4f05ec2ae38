package compiler

import "modec.dev/modec/compiler/diag"

// Codes documents every diagnostic code of the compiler, sorted, for
// `modec explain --code`. Those of a target are its own.
func Codes() []diag.Doc {
	return []diag.Doc{
		{Code: diag.AmbiguousParent, Text: "A name in extends belongs to a policy and to a mode or role as well. " +
			"Which one is meant would decide about permissions, so that it is not guessed: rename one of them."},
		{Code: diag.BadChoice, Text: "A field takes one of a few words, and got another. The message lists them all. " +
			"A model may also be a full id such as claude-sonnet-4-5."},
		{Code: diag.BadCommand, Text: "A command pattern cannot be read: exact text, with * for any characters; a " +
			"trailing \" *\" or \":*\" has a word boundary. @git_read and @readonly_filters are built-in sets."},
		{Code: diag.BadConfig, Text: "A value in modec.toml has the wrong type or is not one of the accepted words. " +
			"`modec schema --config` prints what it takes."},
		{Code: diag.BadException, Text: "The what of an [[exceptions]] entry cannot be read or names something that " +
			"the inventory does not have. It is a tool group (\"mcp\"), a server (\"mcp github\"), a tool (\"mcp " +
			"github:create_issue\") or a pattern (\"command git push *\")."},
		{Code: diag.BadGlob, Text: "A file pattern is not a doublestar glob. There is no negation: write a deny " +
			"instead. A pattern without a slash matches at any depth, one with a leading or inner slash from the " +
			"root."},
		{Code: diag.BadHost, Text: "A host pattern is a host name, *.host for its subdomains, or * for every host; " +
			"no scheme, path or port."},
		{Code: diag.BadImport, Text: "A CUE file imports a package that is neither CUE's own (\"strings\", \"list\") " +
			"nor modec.dev/schema. A source is read from its folder alone, never from a module cache or the network: " +
			"move what it needs into the folder, where all files are one package."},
		{Code: diag.BadLock, Text: "modec.lock cannot be read or was written by a newer modec. It lists which files " +
			"are modec's own, and a build does not guess without it. Restore it from version control, or build with " +
			"--force. The same goes for the state of an installation in a home folder: what was there before lies " +
			"beside it."},
		{Code: diag.BadModel, Text: "A compiled model or policy file cannot be read or written: it is torn, or " +
			"another version of modec wrote it. `modec build` writes it again."},
		{Code: diag.BadName, Text: "The agents do not accept a name: a server's has 1 to 256 characters without : " +
			"and *, a tool's 1 to 128 letters, digits, _, . and -, a role's 1 to 64 characters without white space " +
			"around them. Server names that can.mcp reserves (default, allow, ask, deny, resources, prompts) are " +
			"refused too."},
		{Code: diag.BadPackage, Text: "A CUE file of the source belongs to another package. All of them are package " +
			"modec."},
		{Code: diag.BadPath, Text: "can.edit.guarded lists literal paths inside the project, without wildcards: each " +
			"guarded path is opened by name."},
		{Code: diag.BadPattern, Text: "A pattern that the checks of the source accepted cannot be compiled. That is " +
			"a defect of modec; please report it with the pattern."},
		{Code: diag.BadRegex, Text: "A regular expression is not one of ECMAScript. It is tested unanchored and " +
			"without flags on the cleaned path; inline flags such as (?i) do not exist there."},
		{Code: diag.BadSchema, Text: "The schema that is built into modec does not load. That is a defect of modec; " +
			"please report it."},
		{Code: diag.BadSlug, Text: "A mode's slug has letters, digits and dashes only: Roo refuses the whole file " +
			"for any other."},
		{Code: diag.BadToolPattern, Text: "A pattern over MCP tool names contains the characters of a name, * and ?. " +
			"@read, @write and @destructive stand for the tools of that risk."},
		{Code: diag.BadTransport, Text: "A server is started by a command or reached at a url, not both, and has the " +
			"fields and the type that fit: args, cwd and env for a command, headers for a url."},
		{Code: diag.BadValue, Text: "A value is of the right type and outside of what the schema accepts: empty " +
			"text, a number out of bounds, text of another form."},
		{Code: diag.CannotMerge, Text: "A file in which people write beside modec, such as .mcp.json, cannot be read " +
			"as JSON, so that no entry can be added to it or taken out. Nothing of the build was put in place. In a " +
			"home folder, modec also refuses a file that its agent would not load because of comments or trailing " +
			"commas."},
		{Code: diag.CannotWrite, Text: "The output folder or a file in it cannot be written, or a path leads through " +
			"a symbolic link. Nothing of the build was put in place."},
		{Code: diag.CaseCollision, Text: "Two names differ only in case. Some agents compare names without case and " +
			"some file systems paths, so that they would be one."},
		{Code: diag.ConfigSyntax, Text: "modec.toml is not TOML. The message is the parser's own, at the place where " +
			"it stopped."},
		{Code: diag.Conflict, Text: "Two places give one field different values. The files of a source are united in " +
			"any order: a field may be written twice only with the same value."},
		{Code: diag.ConflictingRestrictions, Text: "mcpRestrictions allows and disallows the same server or the same " +
			"tool. Roo's restriction plan refuses that; say it on one side."},
		{Code: diag.CUE, Text: "CUE's evaluator refuses the source: a reference that does not exist, an expression " +
			"that has no value. Files that are plain data do not need the evaluator."},
		{Code: diag.DuplicateRulesFile, Text: "Two rules files of a mode have the same base name: they land in one " +
			"folder."},
		{Code: diag.DuplicateSlug, Text: "Two files define a mode of the same slug and disagree about its name or " +
			"its role. A mode may be split over files; two modes need two slugs."},
		{Code: diag.Edited, Text: "A file or an entry that modec wrote was changed by somebody since. The build " +
			"leaves it alone and stops. Move the change into the source, or overwrite it with --force."},
		{Code: diag.EmptyProject, Text: "The source folder contains no data file. `modec schema --reference` " +
			"explains what one may say; `modec init DIR` writes an example into an empty folder."},
		{Code: diag.EntryChanged, Text: "The entry of an external server starts something else than the source " +
			"knows, or is gone. Who may call its tools was decided for another program, so that what was allowed is " +
			"asked about, and `modec build --check` fails. Look at what the entry starts, and write that into the " +
			"server's entries."},
		{Code: diag.ExceptionExpired, Text: "The last day of an [[exceptions]] entry has passed. A widening that " +
			"nobody vouches for any more is an error: remove the entry, or have somebody decide again."},
		{Code: diag.ExceptionUsed, Text: "A target keeps something that it cannot hold back, because an " +
			"[[exceptions]] entry of modec.toml accepts that in writing. Every build lists it until the exception " +
			"ends."},
		{Code: diag.FileTooLarge, Text: "A data or prompt file is larger than 4 MiB."},
		{Code: diag.ForeignPath, Text: "A target emitted a path that it does not own. That is a defect of modec; " +
			"please report it."},
		{Code: diag.ForeignWidening, Text: "A file on disk permits more than the source, and differs from what the " +
			"source compiles to: it has an entry of somebody's own, it was edited, or the build is stale. The place " +
			"is the line that permits. Remove it, build again, or write into the source what it permits."},
		{Code: diag.ImportWidens, Text: "The new source, or what is built from it, would permit what the imported " +
			"file does not. A migration never widens: nothing was written. That is a defect of modec; please report " +
			"it."},
		{Code: diag.InheritanceCycle, Text: "Policies, modes or roles extend each other in a circle. Every step of " +
			"it is listed."},
		{Code: diag.Interrupted, Text: "The command was stopped (Ctrl-C, SIGTERM) before it came to its end. Nothing " +
			"was written, or all of it, or it names the files that it changed before."},
		{Code: diag.MatchesNothing, Text: "A glob over servers or tools matches nothing of the inventory. It is a " +
			"warning: the inventory may grow."},
		{Code: diag.Missing, Text: "A check found that an artifact of the source is not there, so that nothing of it " +
			"holds the agent. `modec build` writes it."},
		{Code: diag.MissingField, Text: "A required field is not there. A mode needs a name and a roleDefinition (or " +
			"a roleDefinitionFile); a server needs a command or a url."},
		{Code: diag.NameTaken, Text: "Two servers, modes or roles would have one name in the files of a target, " +
			"because of as. Give one of them another name, or other targets."},
		{Code: diag.NewMeaning, Text: "The last build was written by a modec for which a role asked about what " +
			"its source does not mention. This one leaves that to the agent, which may do some of it without a " +
			"question. The build stops once, so that somebody decides: write silence = \"ask\" into modec.toml to " +
			"keep it closed, or silence = \"agent\" to release it."},
		{Code: diag.NoProject, Text: "There is no modec.toml in the folder. `modec init` writes a new project, " +
			"`modec migrate` makes one of the agents' files that are there, and -C names another folder."},
		{Code: diag.OldModec, Text: "modec.toml asks for a newer modec (modec = \">=1.2.0\"), because the project " +
			"uses what an older one does not know or decides in another way. Install the newer one."},
		{Code: diag.NoTargets, Text: "modec.toml has no [targets.NAME] table, so that there is nothing to compile " +
			"for. An empty table takes a target with its defaults."},
		{Code: diag.Kept, Text: "A file was overwritten by force. What was there is in the folder that the note " +
			"names, which is the user's own, outside the repository."},
		{Code: diag.NoOriginal, Text: "A clean would take modec's part out of a file that a person wrote before " +
			"modec took it over, and cannot put that text back: the user who migrated has it, and git has it " +
			"where it was committed. It stops; with --force it goes on, and keeps a copy of what is there."},
		{Code: diag.NotEmitted, Text: "A subject is to be installed or started for a target that does not emit it: " +
			"its targets name others. Add the target there, or choose another one."},
		{Code: diag.NotOurs, Text: "A build would replace a file that modec did not write, or an entry of a shared " +
			"one. It stops, and nothing is written. Move the file away, or overwrite it with --force."},
		{Code: diag.NotUTF8, Text: "A file contains bytes that are not UTF-8, at the place given. Every data, prompt " +
			"and rules file is UTF-8 text."},
		{Code: diag.NothingToMigrate, Text: "No file of an agent was found that holds a mode, a role or a server: " +
			".roomodes, .claude/settings.json, .claude/agents, .cursor/permissions.json and their like. Name the " +
			"files, or look into the home folder with --user."},
		{Code: diag.Orphaned, Text: "A check found a file, or an entry of one, that modec wrote and that the " +
			"source no longer compiles to. `modec build` removes it."},
		{Code: diag.ParentsDisagree, Text: "Two parents of a subject give a field different values and the subject " +
			"gives none. Only permissions are united; for any other field the subject has to choose."},
		{Code: diag.PathCollision, Text: "Two artifacts would have one path on a file system that folds case: the " +
			"names behind them differ only in case."},
		{Code: diag.PathOutside, Text: "A prompt or rules file lies outside the project. Paths are relative to the " +
			"file that names them and stay inside the project."},
		{Code: diag.RenamedServer, Text: "A pattern matches the name that a server has in the files of its targets " +
			"(as), and not the server's own name. What it says would hold for the server there, and not in the " +
			"source: name the server so that the pattern matches both names, or neither."},
		{Code: diag.RestrictionsReplaced, Text: "A mode writes mcpRestrictions and extends a mode that has others. " +
			"They would take the place of the parent's and open what the parent holds back. Write them in one of the " +
			"two modes, or add what the child denies to its can.mcp."},
		{Code: diag.Stale, Text: "A check found a file as modec wrote it, and the source compiles to another one: " +
			"somebody changed the source and did not build, or built and did not add the files. `modec build` writes " +
			"it again."},
		{Code: diag.Syntax, Text: "A data file does not parse. The errors of all files are reported together, each " +
			"where its parser stopped."},
		{Code: diag.Touched, Text: "Somebody changed entries of their own in a file that modec took over. modec " +
			"keeps them, and notes it in modec.lock, so that a review sees it. `modec verify --disk` says what " +
			"they permit."},
		{Code: diag.UnknownField, Text: "The schema does not have the field. Often it is a typo, which would " +
			"otherwise be dropped in silence. `modec schema --reference` lists the fields."},
		{Code: diag.UnknownFormat, Text: "The name of a file to import is not one that an agent uses. Name the agent " +
			"with --from."},
		{Code: diag.UnknownMode, Text: "The source refers to a mode that it does not define and that is not a " +
			"built-in mode (architect, ask, code, debug, orchestrator)."},
		{Code: diag.UnknownOption, Text: "modec.toml has a key that it does not know. `modec schema --config` and " +
			"`modec targets NAME` list them."},
		{Code: diag.UnknownParent, Text: "extends names nothing that the subject can extend: a policy, or a subject " +
			"of the same kind."},
		{Code: diag.UnknownRole, Text: "The source refers to a role that it does not define."},
		{Code: diag.UnknownServer, Text: "The source refers to a server that the inventory does not have. A rule " +
			"over a server that does not exist would restrict nothing."},
		{Code: diag.UnknownSubject, Text: "An exception names a mode or role that the source does not define."},
		{Code: diag.UnknownTarget, Text: "modec does not know a target of that name. `modec targets` lists them."},
		{Code: diag.UnknownTool, Text: "The source refers to a tool that the inventory does not list for that " +
			"server. A deny of a tool that does not exist would restrict nothing."},
		{Code: diag.UnreadableArtifact, Text: "An artifact cannot be read as its agent would read it, so that what " +
			"it permits is not known. Build again; where somebody else writes the file, correct it at the place " +
			"given."},
		{Code: diag.UnreadableFile, Text: "A file of the source cannot be read: it does not exist, may not be read, " +
			"or is reached by a link that leaves the project."},
		{Code: diag.Wider, Text: "An artifact permits more than the source, and no [[exceptions]] entry accepts it: " +
			"the message says for which action, and by which line of the artifact. modec narrows what a format " +
			"cannot say, so that this is a defect of it; please report it with the source. With --disk it may also " +
			"be a file that an older build wrote."},
		{Code: diag.WrongType, Text: "A value has another type than the field: a list where text belongs, a number " +
			"where a decision belongs."},
	}
}
