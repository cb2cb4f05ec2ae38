package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/output"
)

//go:embed show.html
var PageText string

// pageMark begins every page: modec overwrites nothing else.
const pageMark = "<!doctype html>\n<!-- written by modec show -->\n"

// showPage is what the template shows.
type showPage struct {
	Title  string
	Groups []ir.Group
	Rows   []explain.Row // none for a page of one subject
	Sheets []explain.Sheet
}

// HTMLFuncs are the functions of templates that write permissions.
func HTMLFuncs() template.FuncMap {
	return template.FuncMap{
		"letters": func(c explain.Cell) string { return Letters(&c) },
		"class":   func(d ir.Decision) string { return d.String() },
		"words":   func(d ir.Decision) string { return DecisionLooks[d].Words },
		"lists":   func(g explain.Group) []RuleList { return ListsOf(&g, InFull) },
		"closed":  func(g explain.Group) bool { return g.Closed() },
		"tools":   func(s explain.Server) []RuleList { return ByDecision(&s) },
		"holders": holderWords,
		"nothing": func(list []explain.Holder) bool {
			return strings.Contains(holderWords(list), string(explain.ByNothing))
		},
		"holes":    func(a explain.Agent) []holeLine { return holesOf(&a, InFull) },
		"free":     func(g explain.Holding) bool { return g.Free() },
		"steers":   steersText,
		"id":       func(subject string) string { return strings.ReplaceAll(subject, " ", "-") },
		"said":     saidOf,
		"besides":  func(r explain.Row) string { return besides(&r) },
		"together": func() string { return pairNote },
		"word":     func(l RuleList) ir.Decision { return l.Decision },
		"of":       func(l RuleList) string { return diag.Clean(l.Text()) },
		"hole":     func(l holeLine) string { return l.word },
		"why":      func(l holeLine) string { return diag.Clean(l.text) },
		"clean":    diag.Clean,
		"join":     func(list []string) string { return strings.Join(list, ", ") },
	}
}

// Page returns a page that loads nothing and runs nothing.
func Page(project string, rows []explain.Row, sheets []explain.Sheet) ([]byte, error) {
	t, err := template.New("show").Funcs(HTMLFuncs()).Parse(PageText)
	if err != nil {
		return nil, err
	}
	title := "Permissions"
	if project != "" {
		title += " of " + project
	}
	if len(rows) == 0 && len(sheets) == 1 {
		title = "Permissions of " + sheets[0].Subject
	}
	var b bytes.Buffer
	b.WriteString(pageMark)
	if err := t.Execute(&b, showPage{title, ir.Decided, rows, sheets}); err != nil {
		return nil, err
	}
	return withStyle(b.Bytes())
}

// withStyle writes the hash of the page's only style sheet into its policy: a browser takes no other.
func withStyle(text []byte) ([]byte, error) {
	_, rest, opened := bytes.Cut(text, []byte("<style>"))
	style, _, closed := bytes.Cut(rest, []byte("</style>"))
	if !opened || !closed {
		return nil, errors.New("the page has no style sheet")
	}
	sum := sha256.Sum256(style)
	hash := base64.StdEncoding.EncodeToString(sum[:])
	return bytes.Replace(text, []byte("sha256-STYLE"), []byte("sha256-"+hash), 1), nil
}

func holderWords(list []explain.Holder) string {
	names := make([]string, len(list))
	for i, h := range list {
		names[i] = string(h)
	}
	return strings.Join(names, ", ")
}

func saidOf(x explain.Sheet, g ir.Group) explain.Cell {
	for _, c := range x.Cells {
		if c.Group == g {
			return c
		}
	}
	return explain.Cell{}
}

var errNotAPage = errors.New("modec did not write it; leaving it alone: name another file, or remove it")

// PutPage writes a page in one step.
func PutPage(ctx context.Context, file string, data []byte, p output.Progress) error {
	err := output.Edit(ctx, filepath.Base(file), func(have []byte) ([]byte, error) {
		if have != nil && !bytes.HasPrefix(have, []byte(pageMark)) {
			return nil, errNotAPage
		}
		return data, nil
	}, output.PutOptions{Dir: filepath.Dir(file), Progress: p})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
