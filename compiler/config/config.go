// Package config reads modec.toml and checks it. [Load] returns a [Config], or a
// diagnostic at the place of everything that is wrong. [Schema] writes the same
// declarations as CUE.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"golang.org/x/mod/semver"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lint"
)

// File is the name of a project's configuration.
const File = "modec.toml"

// Config is a checked modec.toml.
type Config struct {
	Name     string
	Source   string // the folder of the data files, relative to the root
	Closed   bool   // inventory = "closed"
	Verify   bool   // verify = true
	Baseline string
	Hooks    contract.HookState
	Unsaid   *ir.Default // what a role decides where it says nothing; nil: its agent does
	Targets  []Target    // in the order of the target table
	// Lint is the severity of each of lint's rules, by its name.
	Lint        map[diag.Code]string
	PromptLimit int       // in bytes, for lint's long-prompt
	Audit       *ir.Audit // nil: nothing is logged
	Gateway     Gateway
	Bytes       []byte // the file itself, for the source hash

	oldest      string // the oldest modec that may compile the project; "": any
	oldestPos   diag.Pos
	baselinePos diag.Pos
	hooksPos    diag.Pos
	exceptions  []rawException
}

// Target is one [targets.NAME] table.
type Target struct {
	Target  contract.Target
	Options contract.Options
	// OnLoss is "narrow" or "error", by group; the "" key holds for the rest.
	OnLoss map[ir.Group]string
	// Partial is set where a group stays of which the target cannot say all.
	Partial bool
}

// InUse returns the targets that modec.toml names.
func (c *Config) InUse() []contract.Target {
	var targets []contract.Target
	for _, t := range c.Targets {
		targets = append(targets, t.Target)
	}
	return targets
}

// Written lists what modec.toml sets beside the source and its exceptions, as "key = value"
// by key: a table of a target without options is its name alone.
func (c *Config) Written() map[string]string {
	out := map[string]string{}
	add := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	add("baseline", c.Baseline)
	if !c.Closed {
		out["inventory"] = "open"
	}
	out["hooks"] = string(c.Hooks)
	if a := c.Audit; a != nil {
		add("audit.file", a.File)
		add("audit.max_mb", strconv.Itoa(a.MaxMB))
		add("audit.keep", strconv.Itoa(a.Keep))
		add("audit.arguments", strconv.FormatBool(a.Arguments))
		add("audit.otel", strconv.FormatBool(a.OTel))
	}
	for _, t := range c.Targets {
		at := "targets." + t.Target.Name()
		out[at] = "on"
		for _, o := range t.Target.Options() {
			if v := t.Options.Text(o.Name); v != "" {
				out[at+"."+o.Name] = v
			}
		}
		out[at+".partial"] = "drop"
		if t.Partial {
			out[at+".partial"] = keeps
		}
	}
	return out
}

// Defaults returns the settings among [Config.Written] that are as they are where nobody sets them, but for the targets
// themselves.
func (c *Config) Defaults() map[string]string {
	out := map[string]string{}
	if c.Hooks == contract.Off {
		out["hooks"] = string(contract.Off)
	}
	for _, t := range c.Targets {
		options := t.Target.Options()
		usual := contract.NewOptions(options, nil, nil)
		for _, o := range options {
			if v := usual.Text(o.Name); v == t.Options.Text(o.Name) {
				out["targets."+t.Target.Name()+"."+o.Name] = v
			}
		}
		if !t.Partial {
			out["targets."+t.Target.Name()+".partial"] = "drop"
		}
	}
	return out
}

// Holding returns the settings among [Config.Written] that name the subject to which files of the project hold every
// session, each with that name: the baseline, where an option says nothing.
func (c *Config) Holding() map[string]string {
	out := map[string]string{"baseline": c.Baseline}
	for _, t := range c.Targets {
		for _, o := range t.Target.Options() {
			if o.Holds {
				out["targets."+t.Target.Name()+"."+o.Name] = cmp.Or(t.Options.Text(o.Name), c.Baseline)
			}
		}
	}
	return out
}

// Enforced returns where modec.toml has hooks decide, or observe that, the zero Pos where it does not.
func (c *Config) Enforced() (at diag.Pos) {
	if c.Hooks != contract.Off {
		at = c.hooksPos
	}
	return at
}

// Fails reports whether a loss in a group is an error (on_loss = "error").
func (t Target) Fails(g ir.Group) bool {
	word, ok := t.OnLoss[g]
	if !ok {
		word = t.OnLoss[""]
	}
	return word == lossIsError
}

// rawException is an [[exceptions]] table before its subject is known.
type rawException struct {
	target, subject, what, reason string
	until                         time.Time
	pos                           diag.Pos            // of the table
	at                            map[string]diag.Pos // of its values
}

// Accepted is a widening that modec.toml accepts in writing.
type Accepted struct {
	Target, Subject, What string
	Until                 time.Time
	Pos                   diag.Pos
}

// Accepted lists the [[exceptions]], in the order written.
func (c *Config) Accepted() []Accepted {
	var out []Accepted
	for _, e := range c.exceptions {
		out = append(out, Accepted{e.target, e.subject, e.what, e.until, e.pos})
	}
	return out
}

// CheckVersion reports a modec that is older than the project asks for. A version that is
// not one of a release is new enough.
func (c *Config) CheckVersion(modec string) (diags diag.List) {
	v := "v" + strings.TrimPrefix(modec, "v")
	if c.oldest != "" && semver.IsValid(v) && semver.Compare(v, c.oldest) < 0 {
		diags.Errorf(diag.OldModec, c.oldestPos, "the project needs modec %s or newer, and this is %s",
			c.oldest[1:], v[1:]).
			Path("modec").
			Hint("install that version, or ask whoever wrote the line whether an older one does")
	}
	return diags
}

// CheckBaseline reports a baseline that is not a role of the project.
func (c *Config) CheckBaseline(p *ir.Project) (diags diag.List) {
	if c.Baseline != "" && p.Role(c.Baseline) == nil {
		diags.Errorf(diag.UnknownRole, c.baselinePos,
			"got unknown role %q, want %s", c.Baseline,
			diag.OneOf(p.RoleNames(), "no baseline: the source has no role")).
			Path("baseline").
			Hint(diag.DidYouMean(c.Baseline, p.RoleNames()))
	}
	return diags
}

// projectOptions declares the top level of modec.toml.
var projectOptions = []contract.Option{
	{
		Name: "baseline", Type: contract.String,
		Doc: "The role of a session that names none. It decides what files shared by several roles may allow.",
	}, {
		Name: "hooks", Type: contract.String, Default: string(contract.Off),
		Choices: []string{string(contract.Off), string(contract.Observe), string(contract.Enforce)},
		Doc: "Whether the agents that can ask modec before each tool call, which decides what their files cannot " +
			"say. enforce: it holds every role and mode, and an agent can do nothing where modec is missing. " +
			"observe: it writes into the audit what it would refuse or ask about, and changes no call. off: there " +
			"is none. Without enforce the files leave out what only a hook could hold back.",
	}, {
		Name: "inventory", Type: contract.String, Default: "closed", Choices: []string{"closed", "open"},
		Doc: "closed: only the servers and tools of the source exist, so that a target can list them all. " +
			"open: every server may offer tools that the source does not list.",
	}, {
		Name: "modec", Type: contract.String, Doc: "The oldest modec that may compile the project: \">=1.2.0\".",
	}, {
		Name: "name", Type: contract.String, Doc: "The project's name, for people.",
	}, {
		Name: "on_loss", Type: contract.String, Default: "narrow", Choices: onLossChoices,
		Doc: "What happens where a target cannot express what the source says. " +
			"narrow: leave out what the target cannot restrict, with a warning at its place. error: stop. " +
			"A target's own on_loss goes first; it may also be a table by tool group: on_loss = {mcp = \"error\"}.",
	}, {
		Name: "partial", Type: contract.String, Default: "drop", Choices: partialChoices,
		Doc: "What becomes of a group in which a target cannot say a deny or an ask. drop: the mode or role does " +
			"not have the group there. keep: it has it, and each build and check says what is not held. A target " +
			"may have its own.",
	}, {
		Name: "source", Type: contract.String, Default: "modec",
		Doc: "The folder of the data files, relative to modec.toml.",
	}, {
		Name: "unsaid", Type: contract.String, Choices: []string{"ask", "deny"},
		Doc: "What a role decides where it says nothing. Default: the agent does what it does without modec.",
	}, {
		Name: "verify", Type: contract.Bool, Default: false,
		Doc: "Verify every build before it is written: " +
			"a build whose artifacts permit more than the source fails, and nothing is written.",
	},
}

// tables are what modec.toml has beside them.
var tables = []string{"audit", "exceptions", "gateway", "lint", "targets"}

// lossIsError is the on_loss that stops a build.
const lossIsError = "error"

var (
	onLossChoices  = []string{"narrow", lossIsError}
	partialChoices = []string{"drop", keeps}
)

// keeps is the partial that keeps a group.
const keeps = "keep"

const subjectKey = "subject"

// exceptionKeys declares [[exceptions]]; every key but the subject is required.
var exceptionKeys = []contract.Option{
	{
		Name: "reason", Type: contract.String, Doc: "Why the widening is accepted.",
	}, {
		Name: subjectKey, Type: contract.String,
		Doc: "The mode or role that it concerns (\"mode:x\" or \"role:x\" where both exist); none where what " +
			"names an agent, a file, a plugin, a server, a setting or a tool of somebody's own, which every session " +
			"has, or a hook of all.",
	}, {
		Name: "target", Type: contract.String, Doc: "The target that may permit more than the source.",
	}, {
		Name: "until", Type: "date", Doc: "The last day on which it holds. After it, the exception is an error.",
	}, {
		Name: "what", Type: contract.String,
		Doc: "What it concerns: a tool group (\"mcp\"), a server (\"mcp github\"), " +
			"a tool (\"mcp github:create_issue\") or a pattern (\"command git push *\"), which means " +
			"what it would mean in an allow of the source; or something that somebody added to the agent's files, " +
			"and whatever that permits: a program that the agent asks (\"hook ./gate.sh\"), \"plugin x.ts\", " +
			"\"agent free\", \"server db\", \"tool x.js\", \"file .cursor/sandbox.json\", \"setting x\", as verify " +
			"prints it.",
	},
}

// Load reads and checks modec.toml at the root of a project. folder is the name of that
// root for people, all are the targets that it may name.
func Load(fsys fs.FS, folder string, all []contract.Target) (*Config, diag.List) {
	var diags diag.List
	b, err := fs.ReadFile(fsys, File)
	if err != nil {
		diags.Errorf(diag.NoProject, diag.Pos{},
			"%s has no %s that can be read: %v", folder, File, diag.WithoutPath(err)).
			Hint("`modec init` writes a new project, `modec migrate` makes one of the agents' files that are there, " +
				"`-C DIR` names another folder")
		return nil, diags
	}
	c := configReader{all: all, diags: &diags}
	cfg := c.read(b)
	diags.Sort()
	return cfg, diags
}

// configReader turns TOML into a Config. The values come from go-toml's
// decoder, the places from its parser.
type configReader struct {
	all   []contract.Target
	diags *diag.List
	keys  map[string]diag.Pos // dotted path → place of the key
	vals  map[string]diag.Pos // dotted path → place of the value
}

func (c *configReader) read(b []byte) *Config {
	var doc map[string]any
	if err := toml.Unmarshal(b, &doc); err != nil {
		pos := diag.Pos{File: File}
		msg := err.Error()
		var de *toml.DecodeError
		if errors.As(err, &de) {
			pos.Line, pos.Col = de.Position()
			msg = strings.TrimPrefix(de.Error(), "toml: ")
		}
		hint := ""
		if line := diag.ConflictLine(b); line > 0 {
			pos.Line, pos.Col, msg = line, 1, diag.LeftConflict
			hint = diag.MendConflict
		}
		c.diags.Errorf(diag.ConfigSyntax, pos, "%s", msg).Hint(hint)
		return nil
	}
	c.locate(b)
	if c.foreign(doc) {
		return nil
	}

	top := maps.Clone(doc)
	for _, k := range tables {
		delete(top, k)
	}
	o := c.options("", projectOptions, top)
	cfg := &Config{
		Name: o.String("name"), Source: o.String("source"), Bytes: b,
		Closed: o.String("inventory") == "closed", Verify: o.Bool("verify"),
		Hooks: contract.HookState(o.String("hooks")), hooksPos: c.vals["hooks"],
		Baseline: o.String("baseline"), baselinePos: c.vals["baseline"],
	}
	var unsaid ir.Decision
	if word := o.String("unsaid"); unsaid.UnmarshalText([]byte(word)) == nil { // else it has been reported
		cfg.Unsaid = &ir.Default{Decision: unsaid, Pos: c.vals["unsaid"]}
	}
	c.oldest(cfg, o.String("modec"))
	if !contract.LocalPath(cfg.Source) {
		c.diags.Errorf(diag.BadConfig, c.vals["source"], "got %q, want a folder inside the project", cfg.Source).
			Path("source")
	}
	c.targets(cfg, doc["targets"], o)
	c.exceptions(cfg, doc["exceptions"])
	c.lint(cfg, doc["lint"])
	c.gateway(cfg, doc["gateway"])
	c.audit(cfg, doc["audit"])
	if cfg.Hooks == contract.Observe && cfg.Audit == nil {
		c.diags.Errorf(diag.BadConfig, cfg.hooksPos, "hooks that observe write an audit, and there is none").
			Path("hooks").
			Hint("write [audit] with file = \"~/audit/PROJECT.jsonl\"")
	}
	return cfg
}

// oldest reads the version that the project asks for.
func (c *configReader) oldest(cfg *Config, text string) {
	if text == "" {
		return
	}
	version, ok := strings.CutPrefix(text, ">=")
	cfg.oldest, cfg.oldestPos = "v"+strings.TrimSpace(version), c.vals["modec"]
	if !ok || !semver.IsValid(cfg.oldest) {
		c.diags.Errorf(diag.BadConfig, cfg.oldestPos, "got %q, want \">=\" and a version", text).
			Path("modec")
		cfg.oldest = ""
	}
}

// lintOptions declares [lint].
func lintOptions(all []contract.Target) []contract.Option {
	list := []contract.Option{{
		Name: "prompt_limit", Type: contract.Int, Default: lint.DefaultPromptLimit,
		Doc: "The most bytes of a prompt (long-prompt).",
	}}
	for _, r := range lint.All(all) {
		doc, _, _ := strings.Cut(r.Doc, ". ")
		list = append(list, contract.Option{
			Name: string(r.ID), Type: contract.String, Default: r.Severity.String(), Choices: lint.Severities,
			Doc: strings.TrimSuffix(doc, ".") + ".",
		})
	}
	slices.SortFunc(list, func(a, b contract.Option) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (c *configReader) lint(cfg *Config, v any) {
	table, ok := v.(map[string]any)
	if v != nil && !ok {
		c.diags.Errorf(diag.BadConfig, c.vals["lint"], "got %s, want a table [lint]", describe(v)).Path("lint")
		return
	}
	o := c.options("lint", lintOptions(c.all), table)
	cfg.Lint, cfg.PromptLimit = map[diag.Code]string{}, o.Int("prompt_limit")
	if cfg.PromptLimit < 1 {
		c.diags.Errorf(diag.BadConfig, c.vals["lint.prompt_limit"], "got %d, want at least 1", cfg.PromptLimit).
			Path("lint.prompt_limit")
	}
	for _, r := range lint.All(c.all) {
		cfg.Lint[r.ID] = o.String(string(r.ID))
	}
}

func (c *configReader) targets(cfg *Config, v any, project contract.Options) {
	tables, ok := v.(map[string]any)
	if v != nil && !ok {
		c.diags.Errorf(diag.BadConfig, c.vals["targets"], "got %s, want tables [targets.NAME]", describe(v)).
			Path("targets")
		return
	}
	names := contract.Names(c.all)
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if !slices.Contains(names, name) {
			c.unknown("targets."+name, diag.UnknownTarget, unknownWord{"target", name, names})
		}
	}
	for _, t := range c.all {
		v, ok := tables[t.Name()]
		if !ok {
			continue
		}
		at := "targets." + t.Name()
		table, ok := v.(map[string]any)
		if !ok {
			c.diags.Errorf(diag.BadConfig, c.vals[at], "got %s, want a table", describe(v)).Path(at)
			continue
		}
		table = maps.Clone(table)
		tc := Target{Target: t, OnLoss: c.onLoss(at, table["on_loss"], project.String("on_loss"))}
		partial := project.String("partial")
		if own, ok := table["partial"]; ok {
			partial, _ = c.choice(at+".partial", own, partialChoices)
		}
		tc.Partial = partial == keeps
		delete(table, "on_loss")
		delete(table, "partial")
		tc.Options = c.options(at, t.Options(), table)
		cfg.Targets = append(cfg.Targets, tc)
	}
}

// onLoss reads a target's on_loss: a word, or a table by tool group.
func (c *configReader) onLoss(at string, v any, fallback string) map[ir.Group]string {
	out := map[ir.Group]string{"": fallback}
	at += ".on_loss"
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains(ir.Groups, ir.Group(k)) {
				c.unknown(at+"."+k, diag.BadConfig, unknownWord{"tool group", k, groupNames()})
				continue
			}
			if s, ok := c.choice(at+"."+k, v[k], onLossChoices); ok {
				out[ir.Group(k)] = s
			}
		}
	default:
		if s, ok := c.choice(at, v, onLossChoices); ok {
			out[""] = s
		}
	}
	return out
}

func groupNames() []string {
	var names []string
	for _, g := range ir.Groups {
		names = append(names, string(g))
	}
	return names
}

func (c *configReader) exceptions(cfg *Config, v any) {
	list, ok := v.([]any)
	if v != nil && !ok {
		c.diags.Errorf(diag.BadConfig, c.vals["exceptions"], "got %s, want tables [[exceptions]]", describe(v)).
			Path("exceptions")
		return
	}
	for i, item := range list {
		at := fmt.Sprintf("exceptions.%d", i)
		table, ok := item.(map[string]any)
		if !ok {
			c.diags.Errorf(diag.BadConfig, c.vals[at], "got %s, want a table", describe(item)).Path(at)
			continue
		}
		e := rawException{pos: c.keys[at], at: map[string]diag.Pos{}}
		before := len(*c.diags)
		for _, k := range slices.Sorted(maps.Keys(table)) {
			if !slices.ContainsFunc(exceptionKeys, func(o contract.Option) bool { return o.Name == k }) {
				c.unknown(at+"."+k, diag.BadConfig, unknownWord{"key", k, optionNames(exceptionKeys)})
			}
		}
		text := map[string]*string{"target": &e.target, "subject": &e.subject, "what": &e.what, "reason": &e.reason}
		for _, key := range exceptionKeys {
			v, ok := table[key.Name]
			e.at[key.Name] = c.vals[at+"."+key.Name]
			what, _ := table["what"].(string)
			if entry := entryIn(what); key.Name == subjectKey && (ofSessions(entry) || isHook(entry) && !ok) {
				if ok {
					c.diags.Errorf(diag.BadConfig, e.at[key.Name], "%q is of every session: take the subject out",
						what).
						Path(at + "." + key.Name)
				}
				continue
			}
			if !ok {
				c.diags.Errorf(diag.BadConfig, e.pos,
					"the exception has no %s: %s", key.Name, lowerFirst(key.Doc)).
					Path(at)
				continue
			}
			if key.Name == "until" {
				e.until = c.date(at+".until", v)
				continue
			}
			s, ok := v.(string)
			if !ok || strings.TrimSpace(s) == "" {
				c.diags.Errorf(diag.BadConfig, e.at[key.Name], "got %s, want text", describe(v)).
					Path(at + "." + key.Name)
			}
			*text[key.Name] = s
		}
		if len(*c.diags) > before {
			continue
		}
		if !slices.ContainsFunc(c.all, func(t contract.Target) bool { return t.Name() == e.target }) {
			c.unknown(at+".target", diag.UnknownTarget, unknownWord{"target", e.target, contract.Names(c.all)})
			continue
		}
		cfg.exceptions = append(cfg.exceptions, e)
	}
}

func optionNames(options []contract.Option) []string {
	var names []string
	for _, o := range options {
		names = append(names, o.Name)
	}
	return names
}

func (c *configReader) date(at string, v any) time.Time {
	var t time.Time
	err := errors.New("not a date")
	switch v := v.(type) {
	case toml.LocalDate:
		return v.AsTime(time.UTC)
	case string:
		t, err = time.Parse(time.DateOnly, v)
	}
	if err != nil {
		c.diags.Errorf(diag.BadConfig, c.vals[at], "got %s, want a date such as 2027-01-31", describe(v)).Path(at)
	}
	return t
}

// foreign reports a file of which nothing looks like modec's.
func (c *configReader) foreign(doc map[string]any) bool {
	names := append(optionNames(projectOptions), tables...)
	for k := range doc {
		if slices.Contains(names, k) || diag.DidYouMean(k, names) != "" {
			return false
		}
	}
	if len(doc) == 0 {
		return false
	}
	c.diags.Errorf(diag.UnknownOption, diag.Pos{File: File},
		"no option of modec's is in this file: it seems to be another program's").
		Hint("modec needs a file of this name in the folder of its project: rename the other one, or keep the " +
			"project in a folder without it (`modec init DIR`)")
	return true
}

// options checks a table against its declaration.
func (c *configReader) options(at string, declared []contract.Option, table map[string]any) contract.Options {
	values, pos := map[string]any{}, map[string]diag.Pos{}
	for _, k := range slices.Sorted(maps.Keys(table)) {
		p := diag.Join(at, k)
		i := slices.IndexFunc(declared, func(o contract.Option) bool { return o.Name == k })
		if i < 0 {
			names := optionNames(declared)
			if at == "" {
				names = append(names, "targets", "exceptions", "lint", "audit")
			} else if strings.HasPrefix(at, "targets.") {
				names = append(names, "on_loss", "partial")
			}
			slices.Sort(names)
			c.unknown(p, diag.UnknownOption, unknownWord{"option", k, names})
			continue
		}
		if v, ok := c.value(p, declared[i], table[k]); ok {
			values[k], pos[k] = v, c.vals[p]
		}
	}
	return contract.NewOptions(declared, values, pos)
}

// optionWords name the values of each type of option for a message.
var optionWords = map[contract.OptionType]string{
	contract.String: "text", contract.Bool: "true or false",
	contract.Int: "a whole number", contract.Strings: "a list of text",
}

// value checks one value against its declaration.
func (c *configReader) value(at string, o contract.Option, v any) (any, bool) {
	switch o.Type {
	case contract.String:
		if s, ok := v.(string); ok {
			if len(o.Choices) > 0 {
				return c.choice(at, s, o.Choices)
			}
			return s, true
		}
	case contract.Bool:
		if b, ok := v.(bool); ok {
			return b, true
		}
	case contract.Int:
		if n, ok := v.(int64); ok {
			if len(o.Choices) > 0 {
				_, ok := c.choice(at, fmt.Sprint(n), o.Choices)
				return int(n), ok
			}
			return int(n), true
		}
	case contract.Strings:
		if list, ok := v.([]any); ok {
			return c.list(at, o, list)
		}
	}
	c.diags.Errorf(diag.BadConfig, c.vals[at], "got %s, want %s", describe(v), optionWords[o.Type]).Path(at)
	return nil, false
}

// list checks a list of texts against its declaration.
func (c *configReader) list(at string, o contract.Option, list []any) (any, bool) {
	out := []string{}
	for i, item := range list {
		itemAt := fmt.Sprintf("%s.%d", at, i)
		s, ok := item.(string)
		if !ok {
			c.diags.Errorf(diag.BadConfig, c.vals[itemAt], "got %s, want text", describe(item)).Path(at)
			return nil, false
		}
		if len(o.Choices) > 0 {
			if _, ok := c.choice(itemAt, s, o.Choices); !ok {
				return nil, false
			}
		}
		out = append(out, s)
	}
	return out, true
}

func (c *configReader) choice(at string, v any, choices []string) (string, bool) {
	s, ok := v.(string)
	if ok && slices.Contains(choices, s) {
		return s, true
	}
	c.diags.Errorf(diag.BadConfig, c.vals[at], "got %s, want one of %s", describe(v), diag.Quote(choices)).
		Path(at).
		Hint(diag.DidYouMean(s, choices))
	return "", false
}

// unknownWord is a word that is not one of those known.
type unknownWord struct {
	what  string // "target"
	got   string
	known []string
}

func (c *configReader) unknown(at string, code diag.Code, w unknownWord) {
	pos := c.keys[at]
	if code == diag.UnknownTarget && c.vals[at] != (diag.Pos{}) {
		pos = c.vals[at]
	}
	c.diags.Errorf(code, pos, "got unknown %s %q, want one of %s", w.what, w.got, diag.Quote(w.known)).
		Path(at).
		Hint(diag.DidYouMean(w.got, w.known))
}

func describe(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case nil:
		return "nothing"
	}
	return fmt.Sprint(v)
}

func lowerFirst(s string) string { return strings.TrimSuffix(strings.ToLower(s[:1])+s[1:], ".") }

// locate records where every key and value stands, under its dotted path;
// array items and array tables count from 0.
func (c *configReader) locate(b []byte) {
	c.keys, c.vals = map[string]diag.Pos{}, map[string]diag.Pos{}
	var p unstable.Parser
	p.Reset(b)
	pos := func(n *unstable.Node) diag.Pos {
		if n.Raw.Length == 0 {
			return diag.Pos{}
		}
		start := p.Shape(n.Raw).Start
		return diag.Pos{File: File, Line: start.Line, Col: start.Column}
	}
	path := func(it unstable.Iterator, at string) (string, diag.Pos) {
		var last diag.Pos
		for it.Next() {
			at, last = diag.Join(at, string(it.Node().Data)), pos(it.Node())
			if c.keys[at].IsZero() {
				c.keys[at] = last
			}
		}
		return at, last
	}
	var value func(n *unstable.Node, at string, key diag.Pos)
	value = func(n *unstable.Node, at string, key diag.Pos) {
		c.vals[at] = pos(n)
		if c.vals[at].IsZero() {
			c.vals[at] = key
		}
		it := n.Children()
		switch n.Kind {
		case unstable.Array:
			for i := 0; it.Next(); i++ {
				value(it.Node(), fmt.Sprintf("%s.%d", at, i), c.vals[at])
			}
		case unstable.InlineTable:
			for it.Next() {
				p, k := path(it.Node().Key(), at)
				value(it.Node().Value(), p, k)
			}
		}
	}
	prefix, counts := "", map[string]int{}
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table:
			var k diag.Pos
			prefix, k = path(e.Key(), "")
			c.vals[prefix] = k
		case unstable.ArrayTable:
			at, k := path(e.Key(), "")
			prefix = fmt.Sprintf("%s.%d", at, counts[at])
			counts[at]++
			c.keys[prefix], c.vals[prefix] = k, k
		case unstable.KeyValue:
			at, k := path(e.Key(), prefix)
			value(e.Value(), at, k)
		}
	}
}
