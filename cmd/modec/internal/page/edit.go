package page

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"modec.dev/modec/cmd/modec/internal/page/console"
	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/edit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/compiler/suggest"
	"modec.dev/modec/compiler/verify"
)

//go:embed edit.html
var editText string

// editor is what the page of `modec ui --write` changes the source by. The page holds what is prepared, and sends it
// along: what it comes to is said by the source as it is then.
type editor struct {
	*Page

	mu      sync.Mutex
	last    *edit.Base // the last source that compiled
	newest  proposed
	found   []suggest.Suggestion
	foundIn string // the digest of the source that they are about
	done    []pageWriting
	waiting *confirmation // for the terminal

	proving sync.Mutex // each verification knows what the one before found
}

// prepared is what somebody wants of the source: changes, or one patch that modec made.
type prepared struct {
	Changes   []migrate.Change `json:"changes,omitempty"`
	Wish      string           `json:"wish,omitempty"`      // the ID of what was refused or asked about
	Suggested string           `json:"suggested,omitempty"` // the file of a suggestion
	Undo      int              `json:"undo,omitempty"`      // which of the writings of the page, from 1
}

// actions returns what the page can do.
func (ed *editor) actions() map[string]console.Action {
	return map[string]console.Action{"editor": ed.editor, "suggestions": ed.suggestions, "verdict": ed.verdict,
		"write": ed.write, "confirmed": ed.confirmed}
}

// editFuncs are the functions of the editor's templates.
func editFuncs() template.FuncMap {
	return template.FuncMap{
		"vals":     values,
		"whole":    func(at []string) migrate.Change { return migrate.Change{At: at, Do: migrate.Unset} },
		"action":   func(c diff.Change) string { return report.Action(&c) },
		"examples": func(c diff.Change) string { return report.Examples(&c) },
	}
}

// values returns names and their values as a button of the page sends them.
func values(pairs ...any) (string, error) {
	out := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		text, ok := pairs[i+1].(string)
		if !ok {
			data, err := json.Marshal(pairs[i+1])
			if err != nil {
				return "", err
			}
			text = string(data)
		}
		out[fmt.Sprint(pairs[i])] = text
	}
	data, err := json.Marshal(out)
	return string(data), err
}

// read reads the source as it is now. One that does not compile leaves the last one, beside what is wrong.
func (ed *editor) read(ctx context.Context) (*edit.Base, diag.List) {
	files := contract.Plain(os.DirFS(ed.Dir))
	if b, diags := edit.Read(ctx, files, ed.Request(), compiler.Seed, ed.last); !diags.HasErrors() {
		ed.last = b
		return b, nil
	} else {
		return ed.last, slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
	}
}

// proposed is what was prepared last and what it came to: whoever writes it has seen it.
type proposed struct {
	of, what string
	p        *edit.Proposal
}

// propose returns what is prepared of a source; nil where nothing is.
func (ed *editor) propose(ctx context.Context, b *edit.Base, x prepared) (p *edit.Proposal, err error) {
	data, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	if n := ed.newest; n.of == b.Digest && n.what == string(data) {
		return n.p, nil
	}
	defer func() {
		if p != nil && err == nil && len(x.Changes) > 0 { // the rest depends on more than the source
			ed.newest = proposed{b.Digest, string(data), p}
		}
	}()
	switch {
	case x.Undo > 0:
		p, err = ed.undo(ctx, b, x.Undo)
	case x.Wish != "":
		p, err = ed.wish(ctx, b, x.Wish)
	case x.Suggested != "":
		p, err = ed.suggested(ctx, b, x.Suggested)
	case len(x.Changes) > 0:
		p, err = b.Change(ctx, x.Changes...)
	}
	if p != nil && p.After != nil {
		p.Report.Runs(ed.Runs(b.Result), ed.Runs(p.After))
		widenedFirst := func(a, b diff.Change) int { return kindOrder(a.Kind) - kindOrder(b.Kind) }
		slices.SortStableFunc(p.Report.Changes, widenedFirst)
	}
	return p, err
}

func kindOrder(k diff.Kind) int {
	return slices.Index([]diff.Kind{diff.Widened, diff.Narrowed, diff.Changed}, k)
}

// suggested proposes the file of a suggestion.
func (ed *editor) suggested(ctx context.Context, b *edit.Base, file string) (*edit.Proposal, error) {
	// The proposal says itself what is wrong with it.
	found, _ := suggest.Project(ctx, b.Request().FS, b.Request(), b.Result)
	for _, f := range found.Files {
		if f.Path == file {
			return b.Write(ctx, []contract.File{f})
		}
	}
	return nil, errors.New("the source has nothing more of which this was suggested")
}

// suggestions renders what the owner could do without.
func (ed *editor) suggestions(ctx context.Context, q url.Values) (template.HTML, error) {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	b, wrong := ed.read(ctx)
	if len(wrong) > 0 {
		return "", console.ErrUnchanged
	}
	if ed.foundIn != b.Digest {
		found, _ := suggest.Project(ctx, b.Request().FS, b.Request(), b.Result)
		ed.found, ed.foundIn = found.Suggestions, b.Digest
	}
	var own []suggest.Suggestion
	for _, s := range ed.found {
		if s.Subject == q.Get("of") {
			own = append(own, s)
		}
	}
	return ed.render("suggestions", own)
}

// editor renders the editor for what is prepared, with one step more where the values name one.
func (ed *editor) editor(ctx context.Context, q url.Values) (template.HTML, error) {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	x, err := parsePrepared(q)
	if err != nil {
		return "", err
	}
	return ed.show(ctx, q, x, "")
}

func parsePrepared(q url.Values) (x prepared, err error) {
	if text := q.Get("prepared"); text != "" {
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			return x, errors.New("got something prepared that the page does not send")
		}
	}
	for _, c := range x.Changes {
		if err := edit.Check(c); err != nil {
			return x, err
		}
	}
	return x, nil
}

// shown is what the editor shows.
type shownEditor struct {
	Q                       url.Values // of the last step
	Of                      edit.Owner
	Owners                  []edit.Owner
	Prepared, Shown, Notice string
	Base                    string // of which source it is, and whether that compiles
	Error                   string
	Broken                  diag.List
	Subject, Restricts      bool
	Parts                   []edit.Part
	Inherited               []inheritedRule
	Parents, Enter, Words   []string
	Servers                 []editServer
	Steps                   []string
	P                       *shownProposal
	Waiting                 bool
	Done                    []shownWriting
}

// inheritedRule is a rule that an owner has from others.
type inheritedRule struct {
	ir.Rule
	Group  ir.Group
	Server string
}

// editServer is a server with what an owner may do with its tools.
type editServer struct {
	ID, Name string
	Off      bool
	Tools    []editTool
}

type editTool struct {
	ID, Name, Risk, Says string
	Decision             string // what holds now, where the owner is a subject; "": of several tools
}

// shownProposal is a proposal as the page shows it.
type shownProposal struct {
	*edit.Proposal
	Changes []diff.Change
	Others  []diff.Other
	Widens  bool
	Lines   []patchLine
}

type patchLine struct{ Class, Text string }

// show renders the editor.
func (ed *editor) show(ctx context.Context, q url.Values, x prepared, notice string) (template.HTML, error) {
	b, wrong := ed.read(ctx)
	out := shownEditor{Q: q, Notice: notice, Broken: wrong, Words: []string{"allow", "ask", "deny"},
		Done: ed.writings(), Waiting: ed.waiting.still()}
	switch {
	case b == nil:
		return "", errors.New(wrong[0].String())
	case len(wrong) == 0:
		out.Base = b.Digest
	default:
		out.Base = wrong[0].String()
	}
	if said := ed.wrote(q); q.Get("do") == "look" && said != "" {
		x, out.Notice = prepared{}, said
	}
	if q.Get("do") == "look" && q.Get("base") == out.Base {
		return "", console.ErrUnchanged
	}
	root, err := b.Tree(nil)
	if err != nil {
		return "", err
	}
	out.Owners = edit.Owners(root)
	if len(out.Owners) == 0 {
		return "", errors.New("the source has no mode, no role and no policy yet: write one first")
	}
	out.Of = out.Owners[0]
	if of, err := edit.ParseOwner(firstOf(q, "choose", "of")); err == nil {
		out.Of = of
	}
	p, err := ed.propose(ctx, b, x)
	if err == nil && p != nil && p.Wrong == nil {
		root, err = b.Tree(p)
	}
	if y, next, stepped, failed := ed.step(ctx, q, b, root, &out.Of, x); stepped && failed == nil {
		x, p, err = y, next, nil
		if ed.waiting.still() {
			ed.withdraw("the page has something else prepared")
		}
		ed.waiting, out.Waiting = nil, false
	} else if err == nil {
		err = failed
	}
	if err != nil {
		out.Error = err.Error()
	}
	ed.fill(&out, b, p)
	data, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	out.Prepared, out.Steps = string(data), x.steps(ed)
	return ed.render("editor", out)
}

func firstOf(q url.Values, names ...string) string {
	for _, name := range names {
		if v := q.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// steps says what is prepared, a line each.
func (x prepared) steps(ed *editor) (list []string) {
	for _, c := range x.Changes {
		list = append(list, c.String())
	}
	switch {
	case x.Undo > 0 && x.Undo <= len(ed.done):
		list = append(list, "undo: "+ed.done[x.Undo-1].what)
	case x.Wish != "":
		list = append(list, "permit what was refused or asked about")
	case x.Suggested != "":
		list = append(list, "what is suggested in "+x.Suggested)
	}
	return list
}

// step takes one step more than what is prepared, or one back. It reports whether the values name one.
func (ed *editor) step(ctx context.Context, q url.Values, b *edit.Base, root *source.Node, of *edit.Owner, x prepared) (
	y prepared, p *edit.Proposal, stepped bool, err error) {
	whole := q.Get("wish") != "" || q.Get("suggested") != "" || q.Get("undo") != ""
	if whole && len(x.Changes) > 0 {
		return y, nil, true, errFirst
	}
	switch {
	case q.Get("wish") != "":
		y = prepared{Wish: q.Get("wish")}
	case q.Get("suggested") != "":
		y = prepared{Suggested: q.Get("suggested")}
	case q.Get("undo") != "":
		if y.Undo, err = strconv.Atoi(q.Get("undo")); err != nil || y.Undo < 1 {
			return y, nil, true, errNotPrepared
		}
	case q.Get("back") != "":
		n, err := strconv.Atoi(q.Get("back"))
		if err != nil || n < 0 || n >= len(x.steps(ed)) {
			return y, nil, true, errNotPrepared
		}
		if len(x.Changes) > 0 {
			y.Changes = slices.Delete(slices.Clone(x.Changes), n, n+1)
		}
	default:
		made, err := changesOf(q, root, of)
		if err != nil || len(made) == 0 {
			return y, nil, err != nil, err
		}
		if len(x.steps(ed)) > len(x.Changes) {
			return y, nil, true, errFirst
		}
		for _, c := range made {
			if err := edit.Check(c); err != nil {
				return y, nil, true, err
			}
		}
		y.Changes = append(slices.Clip(x.Changes), made...)
	}
	p, err = ed.propose(ctx, b, y)
	return y, p, true, err
}

var (
	errNotPrepared = errors.New("that is not prepared any more")
	errFirst       = errors.New("write or take back first what is prepared: one of the two is a patch of its own")
)

// changesOf returns the changes that the values of a form name.
func changesOf(q url.Values, root *source.Node, of *edit.Owner) ([]migrate.Change, error) {
	value := strings.TrimSpace(q.Get("value"))
	switch q.Get("do") {
	case "rule":
		return ruleChange(q, *of)
	case "word":
		at := []string{"can", q.Get("group")}
		if q.Get("group") == string(ir.MCP) && q.Get("server") != "" {
			at = append(at, q.Get("server"))
		}
		return []migrate.Change{{At: of.At(at...), Do: migrate.Decide, Value: q.Get("word")}}, nil
	case "tool":
		return toolChanges(q, root, *of), nil
	case "only":
		c := migrate.Change{At: of.At("mcpRestrictions", q.Get("list")), Do: migrate.Add, Value: q.Get("server")}
		if strings.HasSuffix(q.Get("list"), "Tools") && q.Get("server")+q.Get("tool") != "" {
			c.Value, c.Form = orAll(q.Get("server"))+":"+orAll(q.Get("tool")), migrate.ToolItem
		}
		if c.Value == "" {
			return nil, errors.New("write a name, or a pattern such as \"*\"")
		}
		return []migrate.Change{c}, nil
	case "mode":
		return []migrate.Change{{At: of.At("permissionMode"), Do: migrate.Say, Value: value}}, nil
	case "extend", "enter":
		list := map[string]string{"extend": "extends", "enter": "modes"}[q.Get("do")]
		return []migrate.Change{{At: of.At(list), Do: migrate.Add, Value: value}}, nil
	case "new":
		name, text := strings.TrimSpace(q.Get("name")), strings.TrimSpace(q.Get("text"))
		made, err := edit.ParseOwner(q.Get("kind") + " " + name)
		if err != nil || text == "" || made.Kind == "mode" {
			return nil, errors.New("write a name, and what it is for")
		}
		if slices.Contains(edit.Owners(root), made) {
			return nil, fmt.Errorf("there is a %s %s already: choose it above", made.Kind, made.Name)
		}
		*of = made
		return []migrate.Change{{At: made.At("description"), Do: migrate.Say, Value: text}}, nil
	}
	if text := q.Get("change"); text != "" {
		var c migrate.Change
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return nil, errors.New("got a change that the page does not send")
		}
		return []migrate.Change{c}, nil
	}
	return nil, nil
}

func orAll(name string) string {
	if name == "" {
		return "*"
	}
	return name
}

// ruleChange returns the change that adds a rule.
func ruleChange(q url.Values, of edit.Owner) ([]migrate.Change, error) {
	at := []string{"can", q.Get("group")}
	if q.Get("group") == string(ir.MCP) {
		at = append(at, orAll(q.Get("server")))
	}
	c := migrate.Change{At: of.At(append(at, q.Get("list"))...), Do: migrate.Add,
		Value: strings.TrimSpace(q.Get("pattern"))}
	if c.Value == "" {
		return nil, errors.New("write a pattern: what the rule is about")
	}
	if q.Get("regex") != "" && (q.Get("group") == string(ir.Read) || q.Get("group") == string(ir.Edit)) {
		c.Form = migrate.RegexItem
	}
	return []migrate.Change{c}, nil
}

// toolChanges returns the changes by which an owner says one thing of a tool: it stands in one list or in none.
func toolChanges(q url.Values, root *source.Node, of edit.Owner) (list []migrate.Change) {
	server, tool, word := q.Get("server"), q.Get("tool"), q.Get("word")
	if has := saysOf(edit.Said(root, of), of, server, tool); has != "" && has != word {
		list = append(list, migrate.Change{At: of.At("can", "mcp", server, has), Do: migrate.Drop, Value: tool})
	}
	if word != "" {
		list = append(list, migrate.Change{At: of.At("can", "mcp", server, word), Do: migrate.Add, Value: tool})
	}
	return list
}

// saysOf returns the list of an owner in which a tool stands by its name.
func saysOf(parts []edit.Part, of edit.Owner, server, tool string) string {
	for _, p := range parts {
		named := func(i edit.Item) bool { return i.Value == tool }
		if list := p.At[len(p.At)-1]; !p.Word && slices.Equal(p.At, of.At("can", "mcp", server, list)) &&
			slices.ContainsFunc(p.Items, named) {
			return list
		}
	}
	return ""
}

// fill sets what the editor shows of a source with a proposal.
func (ed *editor) fill(out *shownEditor, b *edit.Base, p *edit.Proposal) {
	res, of := b.Result, p
	if p != nil && p.After != nil {
		res = p.After
	} else {
		of = nil
	}
	root, err := b.Tree(of)
	if err != nil {
		out.Error = err.Error()
		return
	}
	if out.Owners = edit.Owners(root); !slices.Contains(out.Owners, out.Of) {
		out.Of = out.Owners[0]
	}
	out.Parts, out.Parents = edit.Said(root, out.Of), edit.Parents(root, out.Of)
	out.Restricts = out.Of.Kind == "mode"
	var s *policy.Subject
	if ref, ok := out.Of.Ref(); ok {
		if s, err = res.Policy.Subject(ref); err == nil {
			out.Subject = true
			out.Inherited = inherited(s, res.Project, ref)
		}
	}
	if out.Of.Kind == "role" {
		out.Enter = res.Project.ModeNames()
	}
	if len(res.Project.Servers) > 0 {
		all := editServer{ID: "server-all", Name: "*"}
		all.byRisk(out, "tool-all")
		out.Servers = append(out.Servers, all)
	}
	for i := range res.Project.Servers {
		sv := &res.Project.Servers[i]
		x := editServer{ID: fmt.Sprintf("server-%d", i), Name: sv.Name, Off: !sv.DefaultEnabled}
		x.byRisk(out, fmt.Sprintf("tool-%d", i))
		for j, t := range sv.Tools {
			tool := editTool{ID: fmt.Sprintf("tool-%d-%d", i, j), Name: t.Name, Risk: cmp.Or(t.Risk, "unknown"),
				Says: saysOf(out.Parts, out.Of, sv.Name, t.Name)}
			if s != nil {
				tool.Decision = s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}).Decision.String()
			}
			x.Tools = append(x.Tools, tool)
		}
		out.Servers = append(out.Servers, x)
	}
	if p != nil {
		out.Shown = p.Digest
		out.P = &shownProposal{Proposal: p}
		for _, f := range p.Files {
			out.P.Lines = append(out.P.Lines, patchLines(report.PatchOf(f.Path, f.Was, f.Is))...)
		}
		if p.Report != nil {
			out.P.Changes, out.P.Others, out.P.Widens = p.Report.Changes, p.Report.Others, p.Report.Widened > 0
		}
	}
}

// byRisk adds what can be said of all tools of a server that have one risk.
func (x *editServer) byRisk(out *shownEditor, id string) {
	for _, risk := range []string{"read", "write", "destructive"} {
		x.Tools = append(x.Tools, editTool{ID: id + "-" + risk, Name: "@" + risk, Risk: risk,
			Says: saysOf(out.Parts, out.Of, x.Name, "@"+risk)})
	}
}

// inherited returns the rules that a subject has from others.
func inherited(s *policy.Subject, p *ir.Project, ref ir.SubjectRef) (list []inheritedRule) {
	for _, g := range ir.Decided {
		for _, r := range s.Rules(g) {
			if r.From != "" {
				list = append(list, inheritedRule{Rule: r, Group: g})
			}
		}
	}
	list = slices.DeleteFunc(list, func(r inheritedRule) bool { return r.Times.Timed() }) // the allow stands for both
	can := canOf(p, ref)
	if can == nil {
		return list
	}
	for _, r := range can.Timed() {
		if r.From != "" {
			list = append(list, inheritedRule{Rule: r.Rule, Group: r.Group, Server: r.Server})
		}
	}
	if can.MCP == nil {
		return list
	}
	for _, e := range can.MCP.Entries {
		for _, r := range e.Rules {
			if r.From = e.From; r.From != "" && !r.Times.Timed() {
				list = append(list, inheritedRule{Rule: r, Group: ir.MCP, Server: e.Key})
			}
		}
	}
	return list
}

func canOf(p *ir.Project, ref ir.SubjectRef) *ir.Can {
	if m := p.Mode(ref.Mode); m != nil {
		return &m.Can
	}
	if r := p.Role(ref.Role); r != nil {
		return &r.Can
	}
	return nil
}

// patchLines returns the lines of a patch, each with what it is.
func patchLines(patch string) (list []patchLine) {
	for line := range strings.Lines(patch) {
		x := patchLine{Text: diag.Clean(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))}
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "@@"):
			x.Class = "quiet"
		case strings.HasPrefix(line, "-"):
			x.Class = "deny"
		case strings.HasPrefix(line, "+"):
			x.Class = "allow"
		}
		list = append(list, x)
	}
	return list
}

// The bounds of what a pattern is tried on, and of what is shown of it.
const (
	mostFiles   = 20_000
	mostMatches = 20
)

// match renders what a pattern stands for.
func (p *Page) match(ctx context.Context, q url.Values) (template.HTML, error) {
	x := edit.Pattern{List: q.Get("list"), Group: ir.Group(q.Get("group")), Server: orAll(q.Get("server")),
		Value: strings.TrimSpace(q.Get("pattern"))}
	switch {
	case strings.HasSuffix(x.List, "Servers"):
		x.Group, x.Value = ir.MCP, q.Get("server")
	case strings.HasSuffix(x.List, "Tools"):
		x.Group, x.Value, x.Form = ir.MCP, orAll(q.Get("server"))+":"+orAll(q.Get("tool")), migrate.ToolItem
	case q.Get("regex") != "":
		x.Form = migrate.RegexItem
	}
	whats := map[ir.Group]string{ir.MCP: "tools of the inventory", ir.Read: "files of the project",
		ir.Edit: "files of the project", ir.Modes: "modes", ir.Command: "lines that the rules of the project name",
		ir.Web: "hosts that the rules of the project name"}
	type shown struct {
		Pattern, What, Error string
		List, Shown          []edit.Match
		Of                   int
		More                 bool
		Unsafe               string
	}
	out := shown{Pattern: x.Value, What: whats[x.Group]}
	if x.Value != "" {
		var files []string
		if x.Group == ir.Read || x.Group == ir.Edit {
			files = projectFiles(p.Dir)
		}
		var err error
		if out.List, out.Of, err = edit.Matches(ctx, p.model().res.Project, x, files); err != nil {
			out.Error = err.Error()
		}
		if x.List == ir.Allow.String() {
			out.Unsafe = unsafe(out.List)
		}
		out.Shown, out.More = out.List[:min(len(out.List), mostMatches)], len(out.List) > mostMatches
	}
	return p.render("match", out)
}

// unsafe says which of the tools that a pattern would allow may do harm, "" for none.
func unsafe(list []edit.Match) string {
	of := map[string]int{}
	for _, m := range list {
		of[m.About]++
	}
	var parts []string
	if n := of["destructive"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d can destroy something", n))
	}
	if n := of["unknown"]; n > 0 {
		parts = append(parts, fmt.Sprintf("of %d nobody wrote the risk", n))
	}
	return strings.Join(parts, ", ")
}

// projectFiles returns the files of a project on which patterns are tried.
func projectFiles(dir string) (list []string) {
	errEnough := errors.New("enough")
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error { // what cannot be read is left out
		switch {
		case len(list) >= mostFiles:
			return errEnough
		case err != nil:
			return nil
		case d.IsDir() && slices.Contains([]string{".git", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case d.Type().IsRegular():
			if rel, err := filepath.Rel(dir, name); err == nil {
				list = append(list, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return list
}

// verdict renders what verify says of what is prepared.
func (ed *editor) verdict(ctx context.Context, q url.Values) (template.HTML, error) {
	ed.mu.Lock()
	p, err := ed.again(ctx, q)
	ed.mu.Unlock()
	if err != nil {
		return "", err
	}
	report, wrong := ed.proof(ctx, p.After)
	data := map[string]any{"Wrong": wrong, "Decisions": 0}
	if report != nil {
		data["Decisions"] = report.Decisions
	}
	return ed.render("verdict", data)
}

// errChanged is the answer to what was prepared for another source.
var errChanged = errors.New("the source changed meanwhile. This is what it would come to now: look at it, and " +
	"write it then")

// again returns the proposal that the page shows, or fails where it is another one by now.
func (ed *editor) again(ctx context.Context, q url.Values) (*edit.Proposal, error) {
	x, err := parsePrepared(q)
	if err != nil {
		return nil, err
	}
	b, wrong := ed.read(ctx)
	if len(wrong) > 0 {
		return nil, errors.New("nothing was written, since the source on disk does not compile: " + wrong[0].String())
	}
	p, err := ed.propose(ctx, b, x)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return nil, errors.New("nothing is prepared")
	case p.Digest != q.Get("shown"):
		return nil, errChanged
	case p.After == nil:
		return nil, errors.New("nothing was written, since the source would not compile: " + p.Wrong[0].String())
	}
	return p, nil
}

// proof verifies a result, and returns what is wrong with it.
func (ed *editor) proof(ctx context.Context, res *compiler.Result) (report *verify.Report, wrong diag.List) {
	ed.proving.Lock()
	defer ed.proving.Unlock()
	r, diags := ed.Proves(ctx, res)
	return r, slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}
