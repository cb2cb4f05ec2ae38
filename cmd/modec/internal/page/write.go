package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"modec.dev/modec/cmd/modec/internal/page/console"
	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/edit"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/suggest"
)

// pageWriting is something that the page wrote.
type pageWriting struct {
	at    time.Time
	what  string
	files []output.Replacement
}

// shownWriting is a writing as the page lists it.
type shownWriting struct {
	N        int
	At, What string
}

// mostUndone is how many writings the page offers to undo.
const mostUndone = 10

// writings returns what the page wrote, the newest first.
func (ed *editor) writings() (list []shownWriting) {
	for n := len(ed.done); n > 0 && len(list) < mostUndone; n-- {
		w := ed.done[n-1]
		list = append(list, shownWriting{n, w.at.Format(time.TimeOnly), w.what})
	}
	return list
}

// undo proposes the files as they were before a writing, where they are still as it left them.
func (ed *editor) undo(ctx context.Context, b *edit.Base, n int) (*edit.Proposal, error) {
	if n > len(ed.done) {
		return nil, errors.New("this page wrote nothing of that kind")
	}
	var back []output.Replacement
	for _, f := range ed.done[n-1].files {
		back = append(back, output.Replacement{Path: f.Path, Is: f.Was})
	}
	p, err := b.Propose(ctx, back)
	if err != nil {
		return nil, err
	}
	for i, f := range ed.done[n-1].files {
		if have := p.Files[i].Was; string(have) != string(f.Is) || (have == nil) != (f.Is == nil) {
			return nil, fmt.Errorf("%s changed since: take out by hand what is to be undone", f.Path)
		}
	}
	return p, nil
}

// wish proposes the patch of `modec audit --suggest` for what was refused or asked about.
func (ed *editor) wish(ctx context.Context, b *edit.Base, id string) (*edit.Proposal, error) {
	log, err := ed.Audit()
	if err != nil {
		return nil, err
	}
	var tally suggest.Tally
	if err := audit.Read(log.File(), func(ev audit.Event) { tally.Add(&ev) }); err != nil {
		return nil, err
	}
	req := b.Request()
	found, err := tally.Wishes(ctx, suggest.Looking{FS: req.FS, Request: req, Result: b.Result, Seed: compiler.Seed,
		Least: 1, ID: id})
	switch {
	case err != nil:
		return nil, err
	case len(found.List) == 0:
		return nil, errors.New("the source permits it by now, or the log has it no more")
	}
	w := found.List[0]
	if w.Why != "" {
		return nil, fmt.Errorf("there is no patch for %s: %s", &w, w.Why)
	}
	return b.Write(ctx, w.Files)
}

// confirmation is a patch that the terminal is asked about.
type confirmation struct {
	q      url.Values // of the page that wants it
	number string     // that the person types: nobody types it before they read the question
	until  time.Time
	wanted time.Time // when the page last asked whether there is an answer
	answer string    // what came of it; "": nothing yet
}

// pageGone is how long a page that waits for an answer may be silent: it asks each second, unless its machine is busy.
const pageGone = 30 * time.Second

// confirmTime is how long the terminal is asked.
const confirmTime = 2 * time.Minute

// still reports whether the terminal has not answered.
func (w *confirmation) still() bool { return w != nil && w.answer == "" && time.Now().Before(w.until) }

// write writes what the page shows, where the source is still what it was shown for. What permits more is asked about
// in the terminal first: whoever has the page alone cannot permit anything.
func (ed *editor) write(ctx context.Context, q url.Values) (template.HTML, error) {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	p, err := ed.sound(ctx, q)
	if err != nil {
		return ed.tell(ctx, q, err.Error())
	}
	if p.Report.Widened == 0 {
		return ed.put(ctx, q, p)
	}
	if ed.waiting.still() {
		if ed.waiting.q.Get("prepared") == q.Get("prepared") {
			return ed.tell(ctx, q, "")
		}
		return ed.tell(ctx, q, "nothing was written: the terminal asks about another patch; answer that first")
	}
	if !ed.Asked {
		return ed.tell(ctx, q, "nothing was written: it permits more, and modec ui was not started in a terminal that "+
			"could be asked")
	}
	number, err := ed.Number()
	if err != nil {
		return "", err
	}
	now := time.Now()
	ed.waiting = &confirmation{q: q, number: number, until: now.Add(confirmTime), wanted: now}
	ed.ask(p)
	x, err := parsePrepared(q)
	if err != nil {
		return "", err
	}
	return ed.show(ctx, url.Values{"of": q["of"]}, x, "")
}

// sound returns the proposal that the page shows, where verify has nothing against it.
func (ed *editor) sound(ctx context.Context, q url.Values) (*edit.Proposal, error) {
	p, err := ed.again(ctx, q)
	if err != nil {
		return nil, err
	}
	if _, wrong := ed.proof(ctx, p.After); len(wrong) > 0 {
		return nil, errors.New("nothing was written: " + wrong[0].String())
	}
	return p, nil
}

// mostAsked is how many of the things that a patch permits are printed.
const mostAsked = 20

// longest is how many characters of such a line are printed.
const longest = 200

// ask asks the terminal about a patch.
func (ed *editor) ask(p *edit.Proposal) {
	var lines []string
	for i := range p.Report.Changes {
		if c := &p.Report.Changes[i]; c.Kind == diff.Widened {
			lines = append(lines, c.Subject+": "+report.Action(c)+report.Examples(c))
		}
	}
	for _, o := range p.Report.Others {
		if o.Kind == diff.Widened {
			lines = append(lines, o.What+": "+o.Text)
		}
	}
	more := ""
	if n := len(lines) - mostAsked; n > 0 {
		lines, more = lines[:mostAsked], fmt.Sprintf("  and %d more, which the page lists\n", n)
	}
	var b strings.Builder
	b.WriteString("The page wants to write what permits more:\n")
	for _, line := range lines {
		if r := []rune(line); len(r) > longest {
			line = string(r[:longest]) + "…"
		}
		fmt.Fprintf(&b, "  %s\n", diag.Clean(line))
	}
	b.WriteString(more)
	for _, f := range p.Files {
		fmt.Fprintf(&b, "  into %s\n", diag.Clean(f.Path))
	}
	fmt.Fprintf(ed.Terminal, "%sType %s to write it (%s widened), Enter to refuse: ", b.String(), ed.waiting.number,
		report.Count(p.Report.Widened, "permission"))
}

// withdraw takes a question to the terminal back.
func (ed *editor) withdraw(why string) {
	ed.waiting.answer = why + "; nothing was written"
	fmt.Fprintf(ed.Terminal, "\n%s\n", ed.waiting.answer)
}

// wrote returns what was written after the terminal said so, where it is what a page has prepared.
func (ed *editor) wrote(q url.Values) string {
	w := ed.waiting
	if w == nil || !strings.HasPrefix(w.answer, wroteWord) || w.q.Get("prepared") != q.Get("prepared") {
		return ""
	}
	return w.answer
}

// answered takes a line of the terminal. It reports whether the line was an answer.
func (ed *editor) answered(ctx context.Context, line string) bool {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	w := ed.waiting
	if !w.still() {
		return false
	}
	switch {
	case strings.TrimSpace(line) != w.number:
		w.answer = "the terminal refused it; nothing was written"
		return true
	case time.Since(w.wanted) > pageGone:
		ed.withdraw("the page does not ask for it any more")
		return true
	}
	p, err := ed.sound(ctx, w.q)
	if err == nil {
		w.answer, err = ed.writes(ctx, w.q, p)
	}
	if err != nil {
		w.answer = err.Error()
	}
	fmt.Fprintf(ed.Terminal, "%s\n", diag.Clean(w.answer))
	return true
}

// confirmed renders what came of a question to the terminal, once something did.
func (ed *editor) confirmed(ctx context.Context, q url.Values) (template.HTML, error) {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	w := ed.waiting
	switch {
	case w.still():
		if w.q.Get("prepared") == q.Get("prepared") {
			w.wanted = time.Now()
		}
		return "", console.ErrUnchanged
	case w == nil:
		return ed.tell(ctx, q, "")
	case ed.wrote(q) != "":
		return ed.show(ctx, url.Values{"of": q["of"]}, prepared{}, w.answer)
	}
	ed.waiting = nil
	return ed.tell(ctx, q, cmp.Or(w.answer, "the terminal did not answer; nothing was written"))
}

// put writes a proposal and renders what came of it.
func (ed *editor) put(ctx context.Context, q url.Values, p *edit.Proposal) (template.HTML, error) {
	said, err := ed.writes(ctx, q, p)
	if err != nil {
		return ed.tell(ctx, q, err.Error())
	}
	return ed.show(ctx, url.Values{"of": q["of"]}, prepared{}, said)
}

// wroteWord begins what is said of what was written.
const wroteWord = "Wrote "

// writes writes a proposal, and says so.
func (ed *editor) writes(ctx context.Context, q url.Values, p *edit.Proposal) (string, error) {
	x, err := parsePrepared(q)
	if err != nil {
		return "", err
	}
	if len(p.Files) == 0 {
		return "", errors.New("there is nothing to write: the source says it already")
	}
	opt := output.PutOptions{Dir: ed.Dir, Progress: ed.Progress}
	if diags := output.Replace(ctx, p.Files, opt); diags.HasErrors() {
		return "", errors.New(diags[0].String())
	}
	ed.done = append(ed.done, pageWriting{time.Now(), strings.Join(x.steps(ed), "; "), p.Files})
	ed.Load()
	var names []string
	for _, f := range p.Files {
		names = append(names, f.Path)
	}
	return wroteWord + strings.Join(names, ", ") + ". Next: modec build", nil
}

// tell renders the editor as it is, with something to say.
func (ed *editor) tell(ctx context.Context, q url.Values, text string) (template.HTML, error) {
	x, err := parsePrepared(q)
	if err != nil {
		return "", err
	}
	return ed.show(ctx, url.Values{"of": q["of"]}, x, text)
}
