package ecma

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shape writes a tree with the kind of every term.
func shape(a Alternation) string {
	var branches []string
	for _, s := range a {
		var terms []string
		for _, t := range s {
			terms = append(terms, termShape(t))
		}
		branches = append(branches, strings.Join(terms, " "))
	}
	return strings.Join(branches, " | ")
}

func termShape(t Term) string {
	switch t := t.(type) {
	case *Literal:
		return fmt.Sprintf("%04X", t.Unit)
	case *Any:
		return "any"
	case *Shorthand:
		return `\` + string(t.Letter)
	case *Class:
		return fmt.Sprintf("class(%v %04X)", t.Negated, t.listed())
	case *Group:
		return fmt.Sprintf("group%d%s(%s)", t.Number, t.Name, shape(t.Body))
	case *Look:
		return fmt.Sprintf("look%s(%s)", t.Kind, shape(t.Body))
	case *Assertion:
		return string(t.Kind)
	case *Reference:
		return fmt.Sprintf("ref%d%s", t.Number, t.Name)
	case *Repetition:
		lazy := ""
		if t.Lazy {
			lazy = "lazy"
		}
		return fmt.Sprintf("%s{%d,%d}%s", termShape(t.Term), t.Min, t.Max, lazy)
	}
	return fmt.Sprintf("%T", t)
}

func TestParse(t *testing.T) {
	for source, want := range map[string]string{
		"":                         "",
		"|a":                       " | 0061",
		"a|b|":                     "0061 | 0062 | ",
		"^a$":                      "^ 0061 $",
		"a*b+?c??d{2}":             "0061{0,-1} 0062{1,-1}lazy 0063{0,1}lazy 0064{2,2}",
		"a{2,}b{0,3}?":             "0061{2,-1} 0062{0,3}lazy",
		"a{,2}{":                   "0061 007B 002C 0032 007D 007B",
		`.\d\W\b\B`:                `any \d \W \b \B`,
		"(a)(?:b)(?<n>c)":          "group1(0061) group0(0062) group2n(0063)",
		"(?=a)(?!b)(?<=c)(?<!d)":   "look(?=(0061) look(?!(0062) look(?<=(0063) look(?<!(0064)",
		"(?=a)*":                   "look(?=(0061){0,-1}",
		`(a)\1\2`:                  "group1(0061) ref1 0002",
		`\1(a)`:                    "ref1 group1(0061)",
		`\k<n>(?<n>a)`:             "ref1n group1n(0061)",
		`\k<n>`:                    "006B 003C 006E 003E",
		`(?<\u0061\u{62}>.)\k<ab>`: "group1ab(any) ref1ab",
		"[a-cx^]":                  "class(false [{005E 005E} {0061 0063} {0078 0078}])",
		`[^\d-x]`:                  "class(true [{002D 002D} {0030 0039} {0078 0078}])",
		"[]":                       "class(false [])",
		"[^]":                      "class(true [])",
		"[a-]":                     "class(false [{002D 002D} {0061 0061}])",
		`[\b\B\c1\c]`:              "class(false [{0008 0008} {0011 0011} {0042 0042} {005C 005C} {0063 0063}])",
		`\x41\u0042\103\cD\t\0`:    "0041 0042 0043 0004 0009 0000",
		`\x4\u00\8\a\-`:            "0078 0034 0075 0030 0030 0038 0061 002D",
		`\c\c1`:                    "005C 0063 005C 0063 0031",
		`\400\08`:                  "0020 0030 0000 0038",
		"😀+":                       "D83D DE00{1,-1}",
		`[😀]\😀`:                    "class(false [{D83D D83D} {DE00 DE00}]) D83D DE00",
		"a{99999999999}":           "0061{2147483647,2147483647}",
		"]}":                       "005D 007D",
	} {
		p, err := Parse(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := shape(p.Root); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
		if p.String() != source {
			t.Errorf("%s: comes back as %s", source, p)
		}
	}
}

func TestGroups(t *testing.T) {
	p, err := Parse(`(a(?<n>b))(?:c)(?=(d))`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, g := range p.Groups {
		got = append(got, fmt.Sprintf("%d %s %s at %d", i+1, g.Name, g.Body, g.Offset()))
	}
	want := []string{"1  a(?<n>b) at 0", "2 n b at 2", "3  d at 18"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for source, want := range map[string]string{
		"a(b":           `want a ")" for the "(" (character 2)`,
		"é)":            `want a "(" for the ")" (character 2)`,
		"a[b":           `want a "]" for the "[" (character 2)`,
		"a**":           `want something to repeat before the quantifier (character 3)`,
		"^+":            `want something to repeat before the quantifier (character 2)`,
		"(?<=a){2}":     `want something to repeat before the quantifier (character 7)`,
		"{1}":           `want something to repeat before the quantifier (character 1)`,
		"a{2,1}":        `want the smaller number first in "{2,1}" (character 2)`,
		"[b-a]":         `want the range "b-a" the other way round (character 2)`,
		`[\x62-a]`:      `want the range "\x62-a" the other way round (character 2)`,
		`a\`:            `want something after the last "\" (character 2)`,
		`[a\`:           `want something after the last "\" (character 3)`,
		"(?i)a":         `want "(?:", "(?=", "(?!", "(?<=", "(?<!" or "(?<name>" after "(" (character 1)`,
		"x(?<1>a)":      `want a name of letters, digits and "_" in "(?<name>…)" (character 2)`,
		"(?<n>)|(?<n>)": `want the group name "n" once (character 8)`,
		`(?<n>a)\k<m>`:  `want a group named "m" (character 8)`,
		`(?<n>a)\k`:     `want "\k<name>" (character 8)`,
		`(?<n>a)[\k]`:   `want no "\k" in a class beside a named group (character 9)`,
		"a\xff":         `want UTF-8 (character 2)`,
		strings.Repeat("(", 1000) + strings.Repeat(")", 1000): `want at most 250 groups within each other (character 252)`,
	} {
		_, err := Parse(source)
		var s *SyntaxError
		if !errors.As(err, &s) || s.Error() != want {
			t.Errorf("%.20s: got %v, want %s", source, err, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for source, want := range map[string]string{
		".":              "[{0000 0009} {000B 000C} {000E 2027} {202A FFFF}]",
		`\d`:             "[{0030 0039}]",
		`\W`:             "[{0000 002F} {003A 0040} {005B 005E} {0060 0060} {007B FFFF}]",
		"[^\\0-\\uFFFF]": "[]",
		"[]":             "[]",
		"[^]":            "[{0000 FFFF}]",
		"[c-da-b]":       "[{0061 0064}]",
		`[^\D5]`:         "[{0030 0034} {0036 0039}]",
		`\/`:             "[{002F 002F}]",
	} {
		p, err := Parse(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		units := p.Root[0][0].(Single).Units()
		if got := fmt.Sprintf("%04X", units); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
		for unit := range 0x10000 {
			in := slices.ContainsFunc(units, func(r Range) bool { return int(r.First) <= unit && unit <= int(r.Last) })
			if units.Contains(uint16(unit)) != in || units.Not().Contains(uint16(unit)) == in {
				t.Fatalf("%s: %04X is in it and not in it", source, unit)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for _, text := range []string{"", ".claude/a+b (c).md", `^$[]{}|\?*`, "é😀\n-/#"} {
		re, err := Compile("^"+Quote(text)+"$", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := re.Match(text); !ok || err != nil {
			t.Errorf("%q does not match %s: %v", text, re, err)
		}
	}
}

// An evaluation that reaches a limit says so, and does not say that it found nothing.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		source, text string
		options      Options
	}{
		{`^(?:ab|a|b)+$`, strings.Repeat("ab", 60) + "c", Options{Timeout: time.Millisecond}},
		{`^(ab?a?)*$`, strings.Repeat("a", 1<<20), Options{}}, // the stack
	} {
		re, err := Compile(c.source, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := re.Match(c.text); ok || err == nil {
			t.Errorf("%s: got %v without an error", c.source, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, source := range sources {
		f.Add(source, source, false)
	}
	f.Fuzz(func(t *testing.T, source, text string, fold bool) {
		p, err := Parse(source)
		if err != nil {
			var s *SyntaxError
			if !errors.As(err, &s) || s.Offset < 0 || s.Offset > len(source) {
				t.Fatalf("%q: got the error %v", source, err)
			}
			return
		}
		if p.String() != source {
			t.Fatalf("%q comes back as %q", source, p)
		}
		p.Root.Terms(func(term Term) bool {
			if term.Offset() < 0 || term.Offset() >= len(source) {
				t.Fatalf("%q: got a term at %d", source, term.Offset())
			}
			return true
		})
		if len(source) > 1000 || len(text) > 1000 {
			return
		}
		re, err := p.Compile(Options{IgnoreCase: fold, Timeout: 50 * time.Millisecond})
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		_, _ = re.Match(text)
	})
}
