package page

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/textdiff"
)

//go:embed pins.html
var pinsText string

// drift is something that is not as pinned, both versions side by side.
type drift struct {
	Text, At, Left, Right string
	Rows                  []versionRow
	Command               string // that takes it into the pins
}

// versionRow is a line of both versions. What only one of them has is marked.
type versionRow struct {
	Before, After string
	Gone, New     bool
}

// driftOf shows changes of pins; what they are compared with has names.
func driftOf(list []pins.Change, left, right string) (all []drift) {
	for _, c := range list {
		before, after := c.Versions()
		d := drift{Text: c.String(), At: c.Pos.String(), Left: left, Right: right,
			Rows: sideBySide(secret.Text(before), secret.Text(after)), Command: pins.Command(c.ID)}
		if before == after {
			d.Text += ": somebody edited the pin"
		}
		all = append(all, d)
	}
	return all
}

// sideBySide sets the lines of two texts beside each other.
func sideBySide(before, after string) (rows []versionRow) {
	if before == after {
		return nil
	}
	var gone, fresh []string
	flush := func() {
		for i := range max(len(gone), len(fresh)) {
			var r versionRow
			if i < len(gone) {
				r.Before, r.Gone = gone[i], true
			}
			if i < len(fresh) {
				r.After, r.New = fresh[i], true
			}
			rows = append(rows, r)
		}
		gone, fresh = nil, nil
	}
	for _, l := range textdiff.Lines(before, after) {
		switch l.Op {
		case textdiff.Delete:
			gone = append(gone, l.Text)
		case textdiff.Insert:
			fresh = append(fresh, l.Text)
		default:
			flush()
			rows = append(rows, versionRow{Before: l.Text, After: l.Text})
		}
	}
	flush()
	return rows
}

// pinnedServer is a server with what the files say of its pins.
type pinnedServer struct {
	Name, Pinned, Note, Error string
	Drift                     []drift
}

// pinsView renders what is pinned, and where the source differs from it.
func (p *Page) pinsView(context.Context, url.Values) (template.HTML, error) {
	set, wrong := p.Pins()
	if wrong.HasErrors() {
		return p.render("pins", map[string]any{"Wrong": wrong})
	}
	var servers []pinnedServer
	var differ []drift
	project := p.model().res.Project
	for i := range project.Servers {
		sv := &project.Servers[i]
		x := pinnedServer{Name: sv.Name, Pinned: "nothing"}
		switch have := set.Server(sv.Name); {
		case sv.Type == ir.External:
			x.Pinned, x.Note = "cannot be", "its entry is not in the source"
		case have == nil:
			x.Note = "it may change what it says: " + pins.Command(sv.Name)
		default:
			x.Pinned = pinnedText(have)
			now := *have
			now.Entry = pins.Of(sv).Entry
			changes := have.Compare(&now)
			if len(changes) > 0 {
				x.Note = report.Count(len(changes), "difference")
			}
			differ = append(differ, driftOf(changes, "pinned", "in the source")...)
		}
		servers = append(servers, x)
	}
	if set != nil {
		for _, s := range set.Servers {
			if project.Server(s.Name) == nil {
				servers = append(servers, pinnedServer{Name: s.Name, Pinned: pinnedText(s),
					Note: "the source has no such server"})
			}
		}
	}
	return p.render("pins", map[string]any{"Wrong": nil, "Servers": servers, "Drift": differ})
}

// pinnedText says what of a server is pinned.
func pinnedText(s *pins.Server) string {
	parts := []string{"its entry"}
	if s.Instructions.Sum != "" {
		parts = append(parts, "its instructions")
	}
	for _, k := range pins.Listed {
		if n := len(s.Items[k]); n > 0 {
			parts = append(parts, report.Count(n, strings.TrimSuffix(string(k), "s")))
		}
	}
	return strings.Join(parts, ", ")
}

// repinned renders how the pins differ from those of a revision.
func (p *Page) repinned(ctx context.Context, q url.Values) (template.HTML, error) {
	now, wrong := p.Pins()
	if wrong.HasErrors() {
		return "", errors.New(wrong[0].String())
	}
	rev := q.Get("since")
	tree, err := gittree.Open(ctx, p.Dir, rev)
	if err != nil {
		return "", err
	}
	defer tree.Close()
	was, wrong := pins.Read(tree)
	if wrong.HasErrors() {
		return "", fmt.Errorf("in %s: %s", rev, wrong[0])
	}
	var all []drift
	for _, d := range driftOf(pins.Between(was, now), "in "+rev, "now") {
		d.Command = "" // it is pinned
		all = append(all, d)
	}
	return p.render("repinned", all)
}

// askServers asks the servers that the user accepted, and renders where they are not as pinned.
func (p *Page) askServers(ctx context.Context, _ url.Values) (template.HTML, error) {
	set, wrong := p.Pins()
	if wrong.HasErrors() {
		return "", errors.New(wrong[0].String())
	}
	asked, err := p.Ask(ctx, p.model().res.Project, set)
	if err != nil {
		return "", err
	}
	var out []pinnedServer
	for _, a := range asked {
		x := pinnedServer{Name: a.Name, Note: "as pinned"}
		switch {
		case !a.Accepted:
			x.Error = "not asked: you have not accepted what it starts. Run `modec inventory` in a terminal, which " +
				"shows it"
		case a.Error != "":
			x.Error = a.Error
		case !a.Pinned:
			x.Note = report.Count(a.Tools, "tool") + "; nothing of it is pinned: " + pins.Command(a.Name)
		case len(a.Pins) > 0:
			x.Note = report.Count(len(a.Pins), "difference")
			x.Drift = driftOf(a.Pins, "pinned", "offered now")
		}
		out = append(out, x)
	}
	return p.render("asked", map[string]any{"Servers": out})
}
