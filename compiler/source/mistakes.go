package source

import (
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
)

// What the parsers of YAML and JSON say of frequent mistakes says neither what is wrong nor, in YAML,
// where. The texts are theirs: a test fails when they change.
var (
	yamlSign   = lazy.Regexp("(?:^|[\\[{,]|[:-] )\\s*([@`%*&!][^\\s,\\]}#]*)")
	yamlColon  = lazy.Regexp(`^\s*(?:- )?[\w.-]+: +([^"'\s][^"']*?: .*)$`)
	yamlValue  = lazy.Regexp(`^\s*[\w.-]+:\s+(?:[^\s|>&!#,\[{]|[^\s|>&!#].*[^,\[{])$`)
	yamlText   = lazy.Regexp(`[|>][+-]?\d?\s*$`)
	bareWords  = lazy.Regexp(`[A-Za-z][\w ]*$`)
	jsonCommas = []string{"invalid character '}' looking for beginning of object key string",
		"invalid character ']' looking for beginning of value"}
)

// yamlSigns stands for what the parser says of a sign that it could read.
const yamlSigns = "a sign of YAML's own"

// mistake returns what is wrong where a parser stopped, in its file, and what to do. For a mistake that
// it does not know it returns what it was given.
func mistake(data []byte, at diag.Pos, msg string) (pos diag.Pos, message string) {
	lines := strings.Split(string(data), "\n")
	from := min(max(at.Line-1, 0), len(lines)-1)
	found := func(i, col int, format string, args ...any) (diag.Pos, string) {
		at.Line, at.Col = i+1, col+1
		return at, fmt.Sprintf(format, args...)
	}
	of := msg
	if strings.HasPrefix(msg, "cannot unmarshal tag") || strings.Contains(msg, "unknown anchor ") {
		of = yamlSigns
	}
	switch of {
	case yamlSigns, "found character that cannot start any token",
		"did not find expected alphabetic or numeric character":
		for i := from; i < len(lines); i++ {
			blank := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], " \t"))]
			if col := strings.IndexByte(blank, '\t'); col >= 0 {
				return found(i, col, "YAML takes no tabs before a field: use spaces")
			}
			if m := yamlSign().FindStringSubmatchIndex(lines[i]); m != nil {
				word := lines[i][m[2]:m[3]]
				return found(i, m[2], "%c is a sign of YAML's own: put the text in quotes, \"%s\"", word[0], word)
			}
		}
	case "mapping values are not allowed in this context":
		if i, prev := deeper(lines); i > 0 {
			return found(i, indent(lines[i]), tooDeep, indent(lines[i])+1, prev+1, indent(lines[prev])+1)
		}
		for i := from; i < min(from+2, len(lines)); i++ {
			if m := yamlColon().FindStringSubmatchIndex(lines[i]); m != nil {
				return found(i, m[2], "a colon and a space begin a field of YAML: put the text in quotes")
			}
		}
	case "did not find expected key", "did not find expected '-' indicator":
		if i, want := misplaced(lines); want != nil {
			return found(i, indent(lines[i]), "the line begins in column %d, and none that it can belong to does: "+
				"want column %s", indent(lines[i])+1, strings.Join(want, " or "))
		}
		if i, prev := deeper(lines); i > 0 {
			return found(i, indent(lines[i]), tooDeep, indent(lines[i])+1, prev+1, indent(lines[prev])+1)
		}
	case "missing ',' in list literal":
		if m := bareWords().FindString(lines[from][:min(len(lines[from]), max(at.Col-1, 0))]); m != "" {
			_, rest, _ := strings.Cut(lines[from][at.Col-1:], "]")
			word := strings.TrimSpace(m + strings.TrimSuffix(lines[from][at.Col-1:], "]"+rest))
			word, _, _ = strings.Cut(word, ",")
			return found(from, at.Col-1-len(m), "a text has quotes: %q", word)
		}
	case jsonCommas[0], jsonCommas[1]:
		return at, "JSON takes no comma before a closing bracket: remove it"
	}
	return at, msg
}

// tooDeep is what is said of a line that [deeper] finds.
const tooDeep = "the line begins in column %d, deeper than line %d, which has a value of its own: want column %d"

// deeper returns the first line of a YAML file that is more indented than the one before it, which has a value already,
// and that one; 0 where there is none. Lines of a text may be as indented as they like.
func deeper(lines []string) (line, prev int) {
	prev = -1
	text := -1 // how indented the line is that began a text of several lines
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if t == "" || t[0] == '#' || text >= 0 && indent(l) > text {
			continue
		}
		text = -1
		if prev >= 0 && indent(l) > indent(lines[prev]) && yamlValue().MatchString(lines[prev]) {
			return i, prev
		}
		if prev = i; yamlText().MatchString(l) {
			text = indent(l)
		}
	}
	return 0, 0
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// misplaced returns the first line of a YAML file that is less indented than the one before it and
// begins in a column where no block does, and the columns where it could begin.
func misplaced(lines []string) (line int, want []string) {
	var open []int
	for i, text := range lines {
		if t := strings.TrimSpace(text); t == "" || t[0] == '#' {
			continue
		}
		n := indent(text)
		below := -1
		for len(open) > 0 && open[len(open)-1] > n {
			below = open[len(open)-1]
			open = open[:len(open)-1]
		}
		if below >= 0 && (len(open) == 0 || open[len(open)-1] < n) {
			if len(open) > 0 {
				want = append(want, fmt.Sprint(open[len(open)-1]+1))
			}
			return i, append(want, fmt.Sprint(below+1))
		}
		if len(open) == 0 || open[len(open)-1] < n {
			open = append(open, n)
		}
	}
	return 0, nil
}

// duplicate returns an error for a key that a struct of YAML or JSON has twice: other readers take the
// last one, and CUE unites both.
func duplicate(f *ast.File, json bool) (err error) {
	check := func(decls []ast.Decl) {
		seen := map[string]token.Pos{}
		for _, d := range decls {
			field, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			name, _, labelErr := ast.LabelName(field.Label)
			if labelErr != nil {
				continue
			}
			at := field.Label.Pos()
			if json {
				at = at.Add(-1) // CUE's place of a key is behind its quote
			}
			if first, twice := seen[name]; twice && err == nil {
				err = cueerrors.Newf(at, "the key %q is there twice, first in line %d: join the two",
					name, first.Line())
			}
			seen[name] = at
		}
	}
	check(f.Decls)
	ast.Walk(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructLit); ok {
			check(s.Elts)
		}
		return err == nil
	}, nil)
	return err
}

// notFound is CUE's message about a name that nothing defines: mostly a text without quotes.
const notFound = "reference %q not found"

// unquoted puts quotes around the words that CUE did not find, and returns whether there were any: the
// rest of the source is then checked too.
func unquoted(files []*ast.File, err error) (found bool) {
	at := map[token.Position]bool{}
	for _, e := range cueerrors.Errors(err) {
		if text, _ := e.Msg(); text == notFound {
			for _, p := range cueerrors.Positions(e) {
				at[p.Position()] = true
			}
		}
	}
	if len(at) == 0 {
		return false
	}
	for _, f := range files {
		astutil.Apply(f, func(c astutil.Cursor) bool {
			if x, ok := c.Node().(*ast.Ident); ok && at[x.Pos().Position()] {
				c.Replace(&ast.BasicLit{ValuePos: x.NamePos, Kind: token.STRING, Value: strconv.Quote(x.Name)})
				found = true
			}
			return true
		}, nil)
	}
	return found
}
