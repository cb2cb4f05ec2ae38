package policy

// gitRead are git's subcommands that only read, with the options that do so. A test asks the
// installed git which of them take a value, and that none of them writes or runs anything.
// Left out are options that write (--output), run programs (--ext-diff, --textconv,
// --open-files-in-pager, --show-signature), read names from elsewhere (--stdin,
// --pathspec-from-file), and read outside the repository (--no-index). What git runs by its own
// configuration (textconv, a pager, fsmonitor) is the repository's .git/config, a guarded path.
var gitRead = map[string]usage{
	"status": {
		flags: "-s --short -b --branch --porcelain --long -v --verbose -z --null --ignored --show-stash " +
			"--ahead-behind --no-ahead-behind --renames --no-renames -u --untracked-files --find-renames -M " +
			"--ignore-submodules --column --no-column",
		attached: "-u --untracked-files --porcelain --ignored --find-renames -M --ignore-submodules --column",
		max:      -1,
	},
	"log":         logUsage,
	"show":        logUsage,
	"whatchanged": logUsage,
	"diff": {
		flags:    diffFlags + "--cached --staged --merge-base -1 -2 -3 --base --ours --theirs",
		values:   diffValues,
		attached: diffAttached,
		paths:    "--relative",
		max:      -1,
	},
	"shortlog": {
		flags:    revisionFlags + "-n --numbered -s --summary -e --email -c --committer -w",
		values:   walkValues + "--group",
		attached: revisionAttached + "-w --glob --exclude",
		formats:  "--format --pretty --group",
		number:   true,
		max:      -1,
		dashes:   true,
	},
	"rev-list": {
		flags: revisionFlags + "--count --objects --disk-usage --header --timestamp --no-commit-header " +
			"--commit-header",
		values:   revisionValues + "-n",
		attached: revisionAttached + "--disk-usage",
		formats:  "--format --pretty",
		number:   true,
		max:      -1,
		dashes:   true,
	},
	"blame": {
		flags: "-l -t -f --show-name -n --show-number -s -e --show-email -w -M -C -p --porcelain --line-porcelain " +
			"--incremental --root -c -b --color-lines --color-by-age --minimal --first-parent --reverse --abbrev",
		values:   "-L --since --after --until --before --date --ignore-rev --ignore-revs-file --contents",
		attached: "--abbrev -M -C",
		paths:    "--ignore-revs-file --contents",
		max:      -1,
	},
	"annotate": {flags: "-l -t -w -M -C", values: "-L", attached: "-M -C", max: -1},
	"rev-parse": {
		flags: "--abbrev-ref --short --verify -q --quiet --show-toplevel --show-prefix --show-cdup --git-dir " +
			"--absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository " +
			"--is-shallow-repository --symbolic --symbolic-full-name --all --branches --tags --remotes " +
			"--show-object-format --local-env-vars --show-superproject-working-tree",
		attached: "--short --abbrev-ref --branches --tags --remotes",
		max:      -1,
		object:   true,
	},
	"describe": {
		flags: "--tags --all --long --always --dirty --broken --contains --exact-match --first-parent --debug " +
			"--abbrev",
		values:   "--match --exclude --candidates",
		attached: "--abbrev --dirty --broken",
		max:      -1,
		object:   true,
	},
	"ls-files": {
		flags: "-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -k " +
			"--killed -t -v -z --exclude-standard --full-name --error-unmatch --deduplicate --eol --directory " +
			"--no-empty-directory --abbrev --recurse-submodules --resolve-undo",
		values:   "-x --exclude",
		attached: "--abbrev",
		max:      -1,
	},
	"ls-tree": {
		flags: "-r -d -t -l --long -z --name-only --name-status --object-only --full-name --full-tree " +
			"--abbrev",
		values:   "--format",
		attached: "--abbrev",
		max:      -1,
	},
	"cat-file":   {flags: "-t -s -e -p", max: -1, object: true},
	"merge-base": {flags: "-a --all --octopus --independent --is-ancestor --fork-point", max: -1, object: true},
	"name-rev": {
		flags:  "--tags --all --name-only --always --undefined --no-undefined",
		values: "--refs --exclude",
		max:    -1,
		object: true,
	},
	"for-each-ref": {
		flags:   "--ignore-case --omit-empty",
		values:  "--count --sort --format --points-at --merged --no-merged --contains --no-contains --exclude",
		formats: "--format --sort",
		max:     -1,
		files:   -1,
	},
	"show-ref": {
		flags:    "--head --heads --branches --tags -d --dereference -s --hash --verify -q --quiet --exists --abbrev",
		attached: "--hash --abbrev",
		max:      -1,
		files:    -1,
	},
	"show-branch": {
		flags: "-r --remotes -a --all --current --topo-order --date-order --sparse --list --sha1-name --no-name " +
			"--topics --more --independent --merge-base",
		attached: "--more",
		max:      -1,
		object:   true,
	},
	"count-objects": {flags: "-v --verbose -H --human-readable"},
	"check-ignore":  {flags: "-q --quiet -v --verbose -n --non-matching --no-index", max: -1},
	"check-attr":    {flags: "-a --all --cached", max: -1},
	"grep": {
		flags: "-n --line-number -i --ignore-case -l --files-with-matches --name-only -L --files-without-match -c " +
			"--count -v --invert-match -w --word-regexp -E --extended-regexp -F --fixed-strings -G --basic-regexp " +
			"-P --perl-regexp -h -H -o --only-matching --column --heading --break -p --show-function -W " +
			"--function-context -q --quiet --cached --untracked --full-name -I -a --text --all-match --and --or " +
			"--not -z --null -r --recursive --color --no-color --recurse-submodules --exclude-standard",
		values: "-e -f -A --after-context -B --before-context -C --context -m --max-count --max-depth " +
			"--threads",
		attached: "--color",
		pattern:  "-e -f",
		paths:    "-f",
		number:   true,
		max:      -1,
		files:    1,
		searches: true,
	},
	"branch": {
		flags: "-a --all -r --remotes -l --list -v --verbose --show-current -i --ignore-case --omit-empty " +
			"--abbrev --no-abbrev --color --no-color --column --no-column",
		values:   "--contains --no-contains --merged --no-merged --points-at --sort --format",
		attached: "--abbrev --color --column",
		formats:  "--format --sort",
	},
	"tag": {
		flags:    "-l --list -n -i --ignore-case --omit-empty --color --no-color --column --no-column",
		values:   "--contains --no-contains --merged --no-merged --points-at --sort --format",
		attached: "-n --color --column",
		formats:  "--format --sort",
	},
	"remote":         {flags: "-v --verbose"},
	"remote get-url": {flags: "--push --all", max: 1, files: -1},
	"stash list": {
		flags:    reflogFlags + diffFlags,
		values:   reflogValues + diffValues,
		attached: reflogAttached + diffAttached,
		formats:  "--format --pretty",
		paths:    "--relative",
		number:   true,
	},
	"stash show": {
		// No option with a value: git takes all words without a dash out before it reads options.
		flags:    diffFlags + "--include-untracked --only-untracked",
		attached: diffAttached,
		paths:    "--relative",
		max:      1,
		object:   true,
	},
	"reflog":           reflogUsage(0),
	"reflog show":      reflogUsage(1),
	"reflog HEAD":      reflogUsage(0),
	"reflog list":      {},
	"reflog exists":    {max: 1, files: -1},
	"worktree list":    {flags: "--porcelain -v --verbose -z"},
	"submodule":        {flags: "--quiet --cached"},
	"submodule status": {flags: "--cached --recursive"},
	"config": {
		flags: "--list -l --get --get-all --get-regexp --show-origin --show-scope --name-only --local --global " +
			"--system --worktree -z --null --includes --no-includes",
		values:  "--type --default",
		require: "--list -l --get --get-all --get-regexp",
		max:     2,
		files:   -1,
	},
	"version": {flags: "--build-options"},
}

var logUsage = usage{
	flags:    revisionFlags + logFlags + diffFlags,
	values:   revisionValues + logValues + "-n -L " + diffValues,
	attached: revisionAttached + logAttached + diffAttached,
	formats:  "--format --pretty",
	paths:    "--relative -L",
	number:   true,
	max:      -1,
	dashes:   true,
}

func reflogUsage(most int) usage {
	return usage{
		flags:    reflogFlags + logFlags,
		values:   reflogValues + logValues,
		attached: reflogAttached + logAttached,
		formats:  "--format --pretty",
		number:   true,
		max:      most,
		object:   true,
	}
}

// revisionFlags and the like are the options of the commands that walk revisions.
const revisionFlags = "--oneline --graph --all --branches --tags --remotes --merges --no-merges --first-parent " +
	"--reverse --abbrev-commit --no-abbrev-commit --full-history --simplify-merges --topo-order --date-order " +
	"--author-date-order -i --regexp-ignore-case -E --extended-regexp -F --fixed-strings -P --perl-regexp " +
	"--all-match --invert-grep -g --walk-reflogs --boundary --cherry --cherry-pick --cherry-mark --left-only " +
	"--right-only --left-right --parents --children --relative-date --no-notes --notes --log-size " +
	"--show-pulls --dense --sparse --ancestry-path --do-walk --no-walk --no-max-parents --no-min-parents "

const revisionValues = walkValues + "--glob --exclude --committer "

const walkValues = "--max-count --skip --since --after --until --before --since-as-filter --author " +
	"--grep --grep-reflog --date --encoding --diff-merges "

const revisionAttached = "--format --pretty --branches --tags --remotes --min-parents --max-parents --abbrev --notes " +
	"--no-walk --ancestry-path "

// reflogFlags and the like are those that go with a walk along reflogs.
const reflogFlags = "--oneline --all --branches --tags --remotes --merges --no-merges --first-parent --abbrev-commit " +
	"--no-abbrev-commit --full-history -i --regexp-ignore-case -E --extended-regexp -F --fixed-strings -P " +
	"--perl-regexp --all-match --invert-grep --relative-date --no-notes --notes "

const reflogValues = "-n --max-count --skip --since --after --until --before --author --committer --grep " +
	"--grep-reflog --date "

const reflogAttached = "--format --pretty --abbrev --notes "

const logFlags = "-q --full-diff --source --use-mailmap --mailmap --no-mailmap --decorate --no-decorate " +
	"--clear-decorations --follow --no-follow -m -c --cc --dd "

const logValues = "--decorate-refs --decorate-refs-exclude "

const logAttached = "--decorate "

const diffFlags = "-p -u --patch -s --no-patch --raw --patch-with-raw --patch-with-stat --stat --numstat --shortstat " +
	"--dirstat --cumulative --summary --name-only --name-status --color --no-color --color-words --word-diff " +
	"--minimal --patience --histogram --indent-heuristic --no-indent-heuristic --no-renames --find-renames -M -C " +
	"--find-copies --find-copies-harder -B --break-rewrites -D --irreversible-delete --pickaxe-all --pickaxe-regex " +
	"-R -a --text --ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space " +
	"--ignore-blank-lines -W --function-context --exit-code --quiet --no-ext-diff --no-textconv --full-index " +
	"--binary --check --relative --no-relative --no-prefix --default-prefix --compact-summary -z -t -r --submodule " +
	"--ignore-submodules --color-moved --no-color-moved --root "

const diffValues = "--word-diff-regex --diff-algorithm --anchored --inter-hunk-context --diff-filter -S -G -l " +
	"--ws-error-highlight --src-prefix --dst-prefix --line-prefix --color-moved-ws --stat-width --stat-count " +
	"--find-object "

const diffAttached = "-U --unified --stat --dirstat --color --word-diff --color-words --find-renames --find-copies " +
	"--break-rewrites -M -C -B --abbrev --relative --submodule --ignore-submodules --color-moved "

// filters read standard input or the files named, and write standard output.
// Left out are programs that write or run by an argument or a script (sed, awk,
// tee, xargs, find), options that write (sort -o), that read a list of files
// (wc --files0-from), and those that read the files of a folder (grep -r,
// diff), which would pass by what read denies. A test compares the options with
// the help of the installed programs.
var filters = map[string]usage{
	"cat": {
		flags: "-A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T " +
			"--show-tabs -u -v --show-nonprinting",
		max: -1,
	},
	"head": {flags: "-q --quiet --silent -v --verbose -z", values: "-n --lines -c --bytes", number: true, max: -1},
	"tail": {flags: "-q --quiet --silent -v --verbose -z", values: "-n --lines -c --bytes", number: true, max: -1},
	"wc":   {flags: "-c --bytes -m --chars -l --lines -L --max-line-length -w --words", max: -1},
	"sort": {
		flags: "-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z --ignore-leading-blanks --dictionary-order " +
			"--ignore-case --general-numeric-sort --numeric-sort --reverse --version-sort --unique --stable --check " +
			"--human-numeric-sort",
		values: "-k --key -t --field-separator",
		max:    -1,
	},
	"uniq": {
		flags:  "-c --count -d --repeated -D -i --ignore-case -u --unique -z",
		values: "-f --skip-fields -s --skip-chars -w --check-chars",
		max:    1,
	},
	"cut": {
		flags:  "-s --only-delimited -n -z --complement",
		values: "-b --bytes -c --characters -d --delimiter -f --fields --output-delimiter",
		max:    -1,
	},
	"tr":        {flags: "-c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1", max: 2, files: -1},
	"grep":      grepUsage,
	"egrep":     matcherUsage,
	"fgrep":     matcherUsage,
	"nl":        {flags: "-p", values: "-b -d -f -h -i -l -n -s -v -w", max: -1},
	"rev":       {max: -1},
	"tac":       {flags: "-b -r", values: "-s", max: -1},
	"column":    {flags: "-t --table -x", values: "-s -o -c -N", max: -1},
	"comm":      {flags: "-1 -2 -3 --check-order --nocheck-order --total", max: 2},
	"paste":     {flags: "-s --serial", values: "-d --delimiters", max: -1},
	"fold":      {flags: "-b -s", values: "-w", max: -1},
	"fmt":       {flags: "-c -s -t -u", values: "-w -g", max: -1},
	"expand":    {flags: "-i", values: "-t", max: -1},
	"unexpand":  {flags: "-a", values: "-t", max: -1},
	"cmp":       {flags: "-s --silent -l --verbose -b", values: "-n", max: 2},
	"md5sum":    {max: -1},
	"sha1sum":   {max: -1},
	"sha256sum": {max: -1},
	"sha512sum": {max: -1},
	"cksum":     {max: -1},
	"hexdump":   {flags: "-C -c -x -v", values: "-n -s", max: -1},
	"strings":   {flags: "-a", values: "-n", max: -1, not: "@"}, // "@FILE" reads arguments
	"ls": {
		flags: "-a --all -A -l -h -1 -d -t -r -S -F -p -i -s -n -g -o -G -x -C -m -U -X --human-readable " +
			"--directory --reverse --group-directories-first",
		attached: "--color --sort --time",
		max:      -1,
	},
	"stat":     {values: "-c --format", max: -1},
	"file":     {flags: "-b --brief -i --mime --mime-type", max: -1},
	"basename": {values: "-s", flags: "-a", max: -1, files: -1},
	"dirname":  {max: -1, files: -1},
	"echo":     {flags: "-n -e -E", max: -1, files: -1},
	"pwd":      {flags: "-P -L"},
	"true":     {},
	"false":    {},
	"whoami":   {},
	"nproc":    {},
	"uname":    {flags: "-a -s -r -m -n -v -o -p"},
	"seq":      {flags: "-w", values: "-s", max: 3, files: -1},
}

var grepUsage = usage{
	flags:    "-E -F -G -P " + grepFlags,
	values:   matcherUsage.values,
	attached: matcherUsage.attached,
	pattern:  matcherUsage.pattern,
	paths:    matcherUsage.paths,
	number:   true,
	max:      -1,
	files:    1,
}

// matcherUsage is that of egrep and fgrep, whose name says how they match.
var matcherUsage = usage{
	flags:    grepFlags,
	values:   "-e --regexp -f --file -m --max-count -A --after-context -B --before-context -C --context",
	attached: "--color",
	pattern:  "-e --regexp -f --file -C", // the value of -C is optional in some systems
	paths:    "-f --file",
	number:   true,
	max:      -1,
	files:    1,
}

const grepFlags = "-i --ignore-case -v --invert-match -w --word-regexp -x --line-regexp -c --count -l " +
	"--files-with-matches -L -o --only-matching -q --quiet -s --no-messages -b -H -h -n --line-number -a --text -I"
