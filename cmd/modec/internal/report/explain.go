package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
)

// Explain prints a decision, and each agent's verdict.
func (u *Printer) Explain(x explain.Explanation) {
	u.Printf("%s: %s, %s %s\n", x.Decision, diag.Clean(x.Subject), x.Action, diag.Clean(x.Arg))
	where := x.Pos
	if x.From == ir.OfEveryone {
		where += ", for everyone"
	} else if x.From != "" {
		where = strings.TrimPrefix(where+", inherited from "+diag.Clean(x.From), ", ")
	}
	if where != "" {
		where = "  (" + where + ")"
	}
	u.Printf("  by %s%s\n", diag.Clean(x.Rule), where)
	if t := x.AtTimes; t != nil {
		when := "not now"
		if t.Now {
			when = "now too"
		}
		if t.Times != "" {
			when = t.Times + ", " + when
		}
		u.Printf("at times: %s, %s\n  by %s  (%s)\n", t.Decision, diag.Clean(when), diag.Clean(t.Rule), t.Pos)
	}
	for _, v := range x.Verdicts {
		name := strings.TrimSpace(v.Target + " " + v.Surface)
		u.Printf("%s: %s%s\n", name, v.Decision, diag.Clean(qualified(v)))
		if o := v.Own; o != nil {
			u.Printf("  for it alone: %s, by %s  (%s)\n", o.Decision, diag.Clean(o.Rule), o.Pos)
		}
		if u.Verbose && v.Rule != "" {
			if v.At != "" {
				v.At = "  (" + v.At + ")"
			}
			u.Printf("  by %s%s\n", diag.Clean(v.Rule), diag.Clean(v.At))
		}
	}
	u.lost(x)
	if len(x.Elsewhere) > 0 {
		u.Printf("not emitted for %s\n", strings.Join(x.Elsewhere, ", "))
	}
}

// lost says of agents that permit less than the source what their formats cannot say.
func (u *Printer) lost(x explain.Explanation) {
	told := map[string]bool{}
	for _, v := range x.Verdicts {
		if len(v.Losses) == 0 || told[v.Target] {
			continue
		}
		told[v.Target] = true
		u.Printf("%s cannot say all of %s: %s (`modec show %s` says what)\n",
			v.Target, x.Action, strings.Join(v.Losses, ", "), diag.Clean(x.Show))
	}
}

// qualified returns what a verdict leaves open.
func qualified(v explain.Verdict) string {
	note := ""
	switch {
	case v.Kept:
		note = ", by a rule for it alone: " + v.Rule
		if v.Means != "" {
			note += " (" + v.Means + ")"
		}
	case v.ByItself:
		note = ", as it does by itself"
		if v.Past != "" {
			note += ", and " + v.Past
		}
	case v.Governs == "access" && v.Decision > ir.Deny:
		note = ", whether it asks is not said there"
	case v.Governs == "approval" && v.Decision < ir.Allow:
		note = ", nothing there forbids it"
	}
	if v.WithoutHook != nil && *v.WithoutHook != v.Decision {
		note += fmt.Sprintf(", %s without the hook", *v.WithoutHook)
	}
	switch {
	case v.ByRules != nil:
		note += fmt.Sprintf(", past its rules, which say %s: %s", *v.ByRules, v.Hole)
	case v.Hole != "":
		note += ", and a hole: " + v.Hole
	}
	return note
}

// Wrap breaks a paragraph at spaces so that no line is longer than width,
// unless a word is.
func Wrap(text string, width int) string {
	var b strings.Builder
	col := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case col == 0:
		case col+1+n > width:
			b.WriteByte('\n')
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
	}
	return b.String()
}

// ExplainReport is the JSON of an explained decision.
type ExplainReport struct {
	Envelope
	explain.Explanation
}

// CodeReport is the JSON of an explained code.
type CodeReport struct {
	Envelope
	Code string `json:"code"`
	Text string `json:"text"`
}
