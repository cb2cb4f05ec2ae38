// Package page is the page of `modec ui`: it shows what a project permits and, for `--write`, changes its source. [New]
// takes a [Project], and [Page.Handler] serves its views, whose HTML stands beside them.
package page

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/cmd/modec/internal/page/console"
	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/suggest"
)

//go:embed pages.html
var pagesText string

// Page is the page of a project. It shows the newest source that compiles.
type Page struct {
	Project
	ctx    context.Context // of the program
	editor *editor         // nil: the page changes nothing

	mu   sync.RWMutex
	now  *shownModel
	text *template.Template
}

// New returns the page of a project, with diagnostics of errors where its source does not compile.
func New(ctx context.Context, project Project, writes bool) (*Page, diag.List) {
	p := &Page{Project: project, ctx: ctx}
	if writes {
		p.editor = &editor{Page: p}
	}
	return p, p.Load()
}

// Handler serves the page to whoever has one of the keys.
func (p *Page) Handler(keys *console.Keys) (http.Handler, error) {
	options := console.Options{Title: p.title(), Views: p.views(), Keys: keys, Writes: p.editor != nil,
		Actions: map[string]console.Action{"ask": p.askServers}}
	if p.editor != nil {
		maps.Copy(options.Actions, p.editor.actions())
		go p.editor.proof(p.ctx, p.model().res) // so that of what is prepared only the changes are compared
	}
	return console.New(options)
}

// Answered takes a line of the terminal. It reports whether the line answered a question of the page.
func (p *Page) Answered(line string) bool {
	return p.editor != nil && p.editor.answered(p.ctx, line)
}

// shownModel is a source as the page shows it.
type shownModel struct {
	res   *compiler.Result
	rows  []shownRow
	since time.Time
	seen  string    // tells one state of the source from another
	wrong diag.List // why the source on disk is not the one that is shown

	mu     *sync.Mutex
	looked map[ir.SubjectRef]*explain.Sheet // what agents do
	all    bool                             // it has every mode and role
	differ map[string]*diff.Report          // from a revision
}

// shownRow is a subject with what it may do with each server.
type shownRow struct {
	explain.Row
	ref     ir.SubjectRef
	servers []explain.Server
}

// Load compiles the source. One that does not compile leaves the last one, and says what is wrong.
func (p *Page) Load() diag.List {
	res, diags := compiler.Compile(p.ctx, p.Request())
	now := &shownModel{res: res, since: time.Now(), mu: &sync.Mutex{}, looked: map[ir.SubjectRef]*explain.Sheet{},
		differ: map[string]*diff.Report{}}
	if !diags.HasErrors() {
		for _, ref := range res.Project.Subjects() {
			s, err := res.Policy.Subject(ref)
			if err != nil {
				diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
				break
			}
			servers := explain.Servers(res.Project, s)
			now.rows = append(now.rows, shownRow{explain.RowOf(res.Project, s, ref, servers), ref, servers})
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now.seen = strconv.FormatInt(now.since.UnixNano(), 36)
	if diags.HasErrors() {
		if p.now == nil {
			return diags
		}
		last := *p.now
		last.seen, last.wrong = now.seen, nil
		for _, d := range diags {
			if d.Severity == diag.Error {
				last.wrong = append(last.wrong, d)
			}
		}
		now = &last
	}
	p.now = now
	return diags
}

func (p *Page) model() *shownModel {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.now
}

// title names the project.
func (p *Page) title() string {
	if name := p.model().res.Project.Name; name != "" {
		return "Permissions of " + diag.Clean(name)
	}
	return "Permissions"
}

// views returns all there are.
func (p *Page) views() map[string]console.View {
	p.text = template.Must(template.New("pages").Funcs(report.HTMLFuncs()).Funcs(template.FuncMap{
		"line":   func(at diag.Pos) string { return strings.TrimSpace(p.Line(at)) },
		"place":  diag.Pos.String,
		"word":   func(l report.RuleList) ir.Decision { return l.Decision },
		"masked": secret.Text,
	}).Funcs(editFuncs()).Parse(pagesText + pinsText + editText + report.PageText))
	return map[string]console.View{
		"state": p.state, "filters": p.filters, "matrix": p.matrix, "subject": p.subject, "why": p.why,
		"held": p.held, "answer": p.answer, "losses": p.losses, "audit": p.audit, "cursor": p.cursor,
		"approval": p.approval, "match": p.match, "pins": p.pinsView, "repinned": p.repinned,
	}
}

// render executes a template.
func (p *Page) render(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	if err := p.text.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil // what html/template escaped
}

// state says which source is shown, and what is wrong with the one on disk.
func (p *Page) state(_ context.Context, q url.Values) (template.HTML, error) {
	m := p.model()
	if q.Get("seen") == m.seen {
		return "", console.ErrUnchanged
	}
	return p.render("state", map[string]any{"Seen": m.seen, "Since": m.since.Format(time.TimeOnly),
		"Subjects": report.Count(len(m.rows), "subject"), "Wrong": m.wrong})
}

// filters are what the matrix can be asked for.
func (p *Page) filters(_ context.Context, q url.Values) (template.HTML, error) {
	m := p.model()
	var servers, agents []string
	for i := range m.res.Project.Servers {
		servers = append(servers, m.res.Project.Servers[i].Name)
	}
	for _, o := range m.res.Outputs {
		if j, ok := o.Target.(contract.Judged); ok {
			deciders, _ := j.Open(m.res.FS(), m.res.Input(o.Target).Options)
			for _, d := range deciders {
				agents = append(agents, strings.TrimSpace(j.Name()+" "+d.Surface()))
			}
		}
	}
	return p.render("filters", map[string]any{"Servers": servers, "Agents": agents, "Q": q})
}

// gridCell is a cell of the matrix.
type gridCell struct {
	Open, Letters, Title string
	Decision             ir.Decision
	Held                 string // what holds it, where an agent is shown
	Changed              bool
}

// gridRow is a subject of the matrix.
type gridRow struct {
	Subject, Open string
	Steers        bool
	Cells         []gridCell
}

// matrix renders the subjects that pass the filters.
func (p *Page) matrix(ctx context.Context, q url.Values) (template.HTML, error) {
	m := p.model()
	g := grid{m: m, agent: q.Get("agent"), risk: q.Get("risk")}
	var err error
	if rev := q.Get("differs"); rev != "" {
		if g.differ, err = p.differs(m, rev); err != nil {
			return "", err
		}
	}
	if g.agent != "" {
		if err := m.lookAtAll(ctx); err != nil {
			return "", err
		}
	}
	columns := g.columns(q.Get("columns"))
	var rows []gridRow
	for i := range m.rows {
		r := &m.rows[i]
		if kind := q.Get("kind"); kind != "" && !strings.HasPrefix(r.Subject, kind+" ") ||
			!strings.Contains(strings.ToLower(r.Subject), strings.ToLower(q.Get("q"))) {
			continue
		}
		row, shown := g.row(r, columns)
		if shown {
			rows = append(rows, row)
		}
	}
	return p.render("matrix", map[string]any{"Columns": columns, "Rows": rows, "Of": len(m.rows), "Agent": g.agent,
		"Differs": q.Get("differs")})
}

// grid renders cells.
type grid struct {
	m           *shownModel
	agent, risk string
	differ      *diff.Report
}

// column is a group, a server or a tool of a server.
type column struct {
	Name         string
	group        ir.Group
	server, tool string
}

// columns returns the groups, the servers, or the tools of a server.
func (g *grid) columns(of string) (list []column) {
	p := g.m.res.Project
	switch sv := p.Server(of); {
	case of == "*":
		for i := range p.Servers {
			list = append(list, column{Name: p.Servers[i].Name, group: ir.MCP, server: p.Servers[i].Name})
		}
	case sv != nil:
		for _, t := range sv.Tools {
			if g.risk == "" || t.Risk == g.risk {
				list = append(list, column{Name: t.Name, group: ir.MCP, server: of, tool: t.Name})
			}
		}
	default:
		for _, group := range ir.Decided {
			list = append(list, column{Name: string(group), group: group})
		}
	}
	return list
}

// row returns a subject's row, and whether it is to be shown.
func (g *grid) row(r *shownRow, columns []column) (row gridRow, shown bool) {
	row = gridRow{Subject: r.Subject, Open: address("subject", r.ref, nil), Steers: len(r.Steers) > 0}
	shown = g.differ == nil
	for _, c := range columns {
		said := g.said(r, c)
		cell := gridCell{Letters: report.Letters(&said), Decision: said.Decision, Title: titleOf(&said),
			Open: address("why", r.ref, url.Values{"group": {string(c.group)}, "server": {c.server}, "tool": {c.tool}})}
		if g.agent != "" {
			g.asAgent(&cell, r.ref, c.group)
		}
		for _, x := range g.changes(r.ref, c) {
			cell.Changed, shown = true, true
			cell.Title += fmt.Sprintf("; %s %s: %s → %s", x.Kind, x.What, x.Before.Decision, x.After.Decision)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row, shown
}

// said returns what the source says of a column.
func (g *grid) said(r *shownRow, c column) explain.Cell {
	if c.server == "" {
		return r.Cells[slices.IndexFunc(r.Cells, func(x explain.Cell) bool { return x.Group == c.group })]
	}
	cell, first := explain.Cell{Group: ir.MCP}, true
	for i := range r.servers {
		sv := &r.servers[i]
		if sv.Server != c.server {
			continue
		}
		for _, t := range sv.Tools {
			if c.tool != "" && t.Name != c.tool || g.risk != "" && !g.risky(c.server, t.Name) {
				continue
			}
			if first {
				cell.Decision, first = t.Decision, false
			}
			cell.Add(t.Decision)
		}
	}
	slices.Sort(cell.Lists)
	return cell
}

func (g *grid) risky(server, tool string) bool {
	t := g.m.res.Project.Server(server).Tool(tool)
	return t != nil && t.Risk == g.risk
}

// asAgent writes into a cell what one agent makes of it.
func (g *grid) asAgent(cell *gridCell, ref ir.SubjectRef, group ir.Group) {
	x := g.m.look(ref)
	i := slices.IndexFunc(x.Agents, func(a explain.Agent) bool { return a.Name() == g.agent })
	if i < 0 {
		cell.Held, cell.Title = "—", "not emitted"
		return
	}
	for _, h := range x.Agents[i].Groups {
		if h.Group != group {
			continue
		}
		var by []string
		for _, holder := range slices.Compact(slices.Concat(h.Access, h.Approval)) {
			if !slices.Contains(by, string(holder)) {
				by = append(by, string(holder))
			}
		}
		cell.Held = strings.Join(by, ", ")
		if h.Free() {
			cell.Held = "its own"
		}
		for _, c := range h.Changes {
			cell.Title += fmt.Sprintf("; %s becomes %s, as %q", c.Source, c.Here, secret.Text(c.Example))
		}
		if len(h.Changes) > 0 {
			cell.Held += " ≠"
		}
	}
}

// changes returns the differences of a column from the revision.
func (g *grid) changes(ref ir.SubjectRef, c column) (list []diff.Change) {
	if g.differ == nil {
		return nil
	}
	for _, x := range g.differ.Changes {
		named := c.server == "" || strings.HasPrefix(x.What, c.server+":")
		if x.Subject == ref.String() && x.Group == c.group && named {
			list = append(list, x)
		}
	}
	return list
}

func titleOf(c *explain.Cell) string {
	text := report.DecisionLooks[c.Decision].Words
	for i, d := range c.Lists {
		if i == 0 {
			text += ", but lists say otherwise: "
		} else {
			text += ", "
		}
		text += report.DecisionLooks[d].Words
	}
	return text
}

// address returns the address of a view of a subject.
func address(view string, ref ir.SubjectRef, more url.Values) string {
	q := url.Values{"role": {ref.Role}, "mode": {ref.Mode}}
	for name, values := range more {
		q[name] = values
	}
	for name, values := range q {
		if values[0] == "" {
			delete(q, name)
		}
	}
	return "view/" + view + "?" + q.Encode()
}

// differs returns how the source differs from a revision, once for each source.
func (p *Page) differs(m *shownModel, rev string) (*diff.Report, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.differ[rev]; r != nil {
		return r, nil
	}
	before, err := p.Revision(rev)
	if err != nil {
		return nil, err
	}
	r, err := diff.Projects(before, m.res.Policy, compiler.Seed)
	if err == nil {
		m.differ[rev] = r
	}
	return r, err
}

// look returns what agents do with a subject that was looked at.
func (m *shownModel) look(ref ir.SubjectRef) *explain.Sheet {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looked[ref]
}

// lookAt returns what agents do with a subject.
func (m *shownModel) lookAt(ctx context.Context, ref ir.SubjectRef) (*explain.Sheet, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.looked[ref] == nil {
		if err := m.lookWith(ctx, []ir.SubjectRef{ref}); err != nil {
			return nil, err
		}
	}
	return m.looked[ref], nil
}

// lookAtAll looks at every mode and role.
func (m *shownModel) lookAtAll(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all {
		return nil
	}
	err := m.lookWith(ctx, m.res.Project.Subjects())
	m.all = err == nil
	return err
}

func (m *shownModel) lookWith(ctx context.Context, refs []ir.SubjectRef) error {
	sheets, diags := explain.Sheets(ctx, m.res, refs, nil)
	if diags.HasErrors() {
		return errors.New(diags[0].String())
	}
	for i := range sheets {
		m.looked[refs[i]] = &sheets[i]
	}
	return nil
}

// named returns the subject of a query.
func (m *shownModel) named(q url.Values) (ref ir.SubjectRef, err error) {
	ref = ir.SubjectRef{Role: q.Get("role"), Mode: q.Get("mode")}
	if _, err := m.res.Policy.Subject(ref); err != nil {
		return ref, fmt.Errorf("the source has no such mode or role any more: %w", err)
	}
	return ref, nil
}

// looking returns the subject of a query, and what agents do with it.
func (m *shownModel) looking(ctx context.Context, q url.Values) (ref ir.SubjectRef, x *explain.Sheet, err error) {
	if ref, err = m.named(q); err == nil {
		x, err = m.lookAt(ctx, ref)
	}
	return ref, x, err
}

// subject renders all that there is to know of one.
func (p *Page) subject(ctx context.Context, q url.Values) (template.HTML, error) {
	m := p.model()
	ref, x, err := m.looking(ctx, q)
	if err != nil {
		return "", err
	}
	var modes []string
	if ref.Role != "" {
		modes = m.res.Project.ModeNames()
	}
	return p.render("subject", map[string]any{"Edits": p.edits(ref), "Sheet": *x, "Ref": ref, "Modes": modes})
}

// edits returns the owners that a page that writes can change about a subject.
func (p *Page) edits(ref ir.SubjectRef) (owners []string) {
	project := p.model().res.Project
	if p.editor == nil {
		return nil
	}
	if project.Role(ref.Role) != nil {
		owners = append(owners, ir.SubjectRef{Role: ref.Role}.String())
	}
	if m := project.Mode(ref.Mode); m != nil && !m.Builtin {
		owners = append(owners, ir.SubjectRef{Mode: ref.Mode}.String())
	}
	return owners
}

// why renders the rules of one group of a subject.
func (p *Page) why(_ context.Context, q url.Values) (template.HTML, error) {
	m := p.model()
	ref, err := m.named(q)
	if err != nil {
		return "", err
	}
	var x explain.Sheet
	if err := x.Describe(m.res, ref); err != nil {
		return "", err
	}
	group := ir.Group(q.Get("group"))
	if !slices.Contains(ir.Decided, group) {
		return "", fmt.Errorf("got the group %q, which there is none of", group)
	}
	type part struct {
		Subject string
		Of      explain.Group
	}
	var parts []part
	example := ""
	for _, side := range x.Source {
		for _, g := range side.Groups {
			if g.Group != group {
				continue
			}
			if sv := q.Get("server"); sv != "" {
				g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r explain.Rule) bool {
					return r.Server != "" && r.Server != sv && !strings.Contains(r.Server, "*")
				})
			}
			parts = append(parts, part{side.Subject, g})
			for _, r := range g.Rules {
				if example == "" && group != ir.MCP && !strings.ContainsAny(r.Pattern, "*{[(") {
					example = r.Pattern
				}
			}
		}
	}
	if sv := q.Get("server"); sv != "" {
		example = sv + ":" + q.Get("tool")
	}
	return p.render("why", map[string]any{"Edits": p.edits(ref), "Subject": x.Subject,
		"Ref": ref, "Group": group, "Parts": parts,
		"Server": q.Get("server"), "Example": example,
		"Held": address("held", ref, url.Values{"group": {string(group)}})})
}

// held renders what holds a subject to a group, agent by agent.
func (p *Page) held(ctx context.Context, q url.Values) (template.HTML, error) {
	_, x, err := p.model().looking(ctx, q)
	if err != nil {
		return "", err
	}
	type line struct {
		Agent string
		Of    explain.Holding
	}
	var lines []line
	for _, a := range x.Agents {
		for _, g := range a.Groups {
			if string(g.Group) == q.Get("group") {
				lines = append(lines, line{a.Name(), g})
			}
		}
	}
	return p.render("held", map[string]any{"Lines": lines, "Elsewhere": x.Elsewhere})
}

// answer explains an action that somebody tries.
func (p *Page) answer(ctx context.Context, q url.Values) (template.HTML, error) {
	m := p.model()
	ref, err := m.named(q)
	if err != nil {
		return "", err
	}
	arg := q.Get("arg")
	if arg == "" {
		return "", errors.New("write what to try: a path, a command line, a host, SERVER:TOOL, a mode's slug or a tool")
	}
	action, err := policy.ParseAction(q.Get("group"), arg)
	if err != nil {
		return "", err
	}
	x, diags, err := explain.Action(ctx, m.res, p.Disk, ref,
		explain.Question{Name: q.Get("group"), Arg: arg, Action: action})
	if err == nil && diags.HasErrors() {
		err = errors.New(diags[0].String())
	}
	if err != nil {
		return "", err
	}
	type verdictLine struct {
		explain.Verdict
		Text string
	}
	var verdicts []verdictLine
	files := m.res.FS()
	for _, v := range x.Verdicts {
		verdicts = append(verdicts, verdictLine{v, artifactLine(files, v.Place)})
	}
	return p.render("answer", map[string]any{"X": x, "Line": strings.TrimSpace(p.Line(x.Place)),
		"Verdicts": verdicts})
}

// artifactLine returns the line of an artifact at a place, "" where it has none.
func artifactLine(files map[string][]byte, at diag.Pos) string {
	lines := strings.Split(string(files[at.File]), "\n")
	if at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	return secret.Text(strings.TrimSpace(lines[at.Line-1]))
}

// losses renders what each agent cannot hold, with the ways to keep it.
func (p *Page) losses(context.Context, url.Values) (template.HTML, error) {
	type part struct {
		Target string
		Losses diag.List
	}
	var parts []part
	for _, o := range p.model().res.Outputs {
		parts = append(parts, part{o.Target.Name(), slices.DeleteFunc(slices.Clone(o.Losses),
			func(d diag.Diagnostic) bool { return d.Loss == diag.Text })})
	}
	return p.render("losses", parts)
}

// mostEvents is how many events the page shows.
const mostEvents = 200

// audit renders the newest events that pass its filters.
func (p *Page) audit(_ context.Context, q url.Values) (template.HTML, error) {
	data := map[string]any{"Q": q, "None": "", "Events": nil, "Newest": uint64(0)}
	log, err := p.Audit()
	if errors.Is(err, p.NoAudit) {
		data["None"] = err.Error()
		return p.render("audit", data)
	}
	if err != nil {
		return "", err
	}
	filter := audit.Filter{Denied: q.Get("denied") != "", Role: q.Get("role"), Mode: q.Get("mode"), Tool: q.Get("tool")}
	var list []audit.Event
	more, newest := 0, uint64(0)
	err = audit.Read(log.File(), func(ev audit.Event) {
		newest = ev.N
		if !filter.Wants(&ev) {
			return
		}
		if list = append(list, ev); len(list) > mostEvents {
			list, more = list[1:], more+1
		}
	})
	if err != nil {
		return "", err
	}
	if q.Get("look") != "" && q.Get("newest") == strconv.FormatUint(newest, 10) {
		return "", console.ErrUnchanged
	}
	data["Newest"] = newest
	slices.Reverse(list)
	type line struct {
		audit.Event
		Open string
		Wish string // what would permit it, on a page that writes
		Of   string // whose that is
	}
	var lines []line
	m := p.model()
	for _, ev := range list {
		x := line{Event: ev}
		ref := ir.SubjectRef{Role: ev.Role, Mode: ev.Mode}
		if _, err := m.res.Policy.Subject(ref); err == nil && slices.Contains(ir.Decided, ir.Group(ev.Group)) {
			of := url.Values{"group": {ev.Group}}
			if ev.Server != "" {
				of["server"], of["tool"] = []string{ev.Server}, []string{ev.Tool}
			}
			x.Open = address("why", ref, of)
			if p.editor != nil {
				x.Wish, x.Of = suggest.WishID(&ev), ref.String()
				if ref.Role != "" && ref.Mode != "" {
					x.Of = ir.SubjectRef{Role: ref.Role}.String()
				}
			}
		}
		lines = append(lines, x)
	}
	data["Events"], data["More"] = lines, more
	return p.render("audit", data)
}
