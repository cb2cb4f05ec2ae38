package compiler

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue"

	"modec.dev/modec/compiler/diag"
)

// shape is a definition of the schema, read from CUE once. Data is checked
// against it without CUE's evaluator, which reports a failed disjunction as an
// error for every branch and hides the siblings of a bad field; a test holds
// the verdicts of both together on every fixture.
type shape struct {
	kinds kind

	fields  []fieldShape // of a struct, in the order of the schema
	index   map[string]int
	pattern *shape // of the fields that are not named; nil: none
	open    bool   // any other field is accepted

	elem *shape // of a list

	choices []string // literal strings; with no other string accepted unless checks
	checks  []check  // on a scalar

	alts []*shape // a disjunction: one for each form
}

type fieldShape struct {
	name     string
	doc      string // what the schema's comment says
	shape    *shape
	required bool
}

// check is a bound on a scalar.
type check struct {
	op   cue.Op
	re   *regexp.Regexp
	text string
	num  *big.Float
}

// shapeReader reads definitions, each once: it keeps those that others refer
// to, by path.
type shapeReader map[string]*shape

func (r shapeReader) shape(v cue.Value) *shape {
	_, ref := v.ReferencePath()
	key := ref.String()
	if s := r[key]; s != nil && key != "" {
		return s
	}
	v = cue.Dereference(v)
	s := &shape{kinds: kindsOf(v.IncompleteKind())}
	op, args := v.Expr()
	switch {
	case op == cue.OrOp:
		r.disjunction(s, args)
	case s.kinds == structKind:
		r.structure(s, v)
	case s.kinds == listKind:
		if e := v.LookupPath(cue.MakePath(cue.AnyIndex)); e.Exists() {
			s.elem = r.shape(e)
		}
	default:
		s.scalar(v)
	}
	if key != "" {
		r[key] = s
	}
	return s
}

var cueKinds = []struct {
	cue  cue.Kind
	kind kind
}{
	{cue.StructKind, structKind}, {cue.ListKind, listKind}, {cue.StringKind, stringKind}, {cue.IntKind, intKind},
	{cue.FloatKind, floatKind}, {cue.BoolKind, boolKind}, {cue.NullKind, nullKind},
}

func kindsOf(k cue.Kind) kind {
	var out kind
	for _, c := range cueKinds {
		if k&c.cue != 0 {
			out |= c.kind
		}
	}
	return out
}

// disjunction gathers the literal strings of a disjunction; what remains are
// alternatives.
func (r shapeReader) disjunction(s *shape, args []cue.Value) {
	for _, a := range args {
		alt := r.shape(a)
		switch {
		case alt.alts != nil:
			s.alts = append(s.alts, alt.alts...)
			s.choices = append(s.choices, alt.choices...)
		case alt.kinds == stringKind && alt.choices != nil && alt.checks == nil:
			s.choices = append(s.choices, alt.choices...)
		default:
			s.alts = append(s.alts, alt)
		}
	}
}

func (r shapeReader) structure(s *shape, v cue.Value) {
	s.index = map[string]int{}
	it, err := v.Fields(cue.Optional(true))
	if err != nil {
		return
	}
	for it.Next() {
		sel := it.Selector()
		name := sel.Unquoted()
		s.index[name] = len(s.fields)
		s.fields = append(s.fields, fieldShape{name, docOf(it.Value()), r.shape(it.Value()), sel.ConstraintType() == cue.RequiredConstraint})
	}
	if p := v.LookupPath(cue.MakePath(cue.AnyString)); p.Exists() {
		if s.open = p.IncompleteKind() == cue.TopKind; !s.open {
			s.pattern = r.shape(p)
		}
	} else if v.Allows(cue.AnyString) {
		s.open = true
	}
}

// docOf joins the comment before a field into one line. That of a definition
// that the field refers to comes after it.
func docOf(v cue.Value) string {
	for _, g := range v.Doc() {
		return strings.Join(strings.Fields(g.Text()), " ")
	}
	return ""
}

func (s *shape) scalar(v cue.Value) {
	op, args := v.Expr()
	switch op {
	case cue.AndOp:
		for _, a := range args {
			s.scalar(a)
		}
	case cue.RegexMatchOp:
		if text, err := args[0].String(); err == nil {
			s.checks = append(s.checks, check{op: op, re: regexp.MustCompile(text), text: text})
		}
	case cue.NotEqualOp, cue.GreaterThanEqualOp, cue.LessThanEqualOp, cue.GreaterThanOp, cue.LessThanOp:
		c := check{op: op, text: fmt.Sprint(args[0])}
		if str, err := args[0].String(); err == nil {
			c.text = str
		} else {
			c.num, _, _ = big.ParseFloat(c.text, 10, 64, big.ToNearestEven)
		}
		s.checks = append(s.checks, c)
	case cue.NoOp:
		if str, err := v.String(); err == nil {
			s.choices = append(s.choices, str)
		}
	}
}

// check reports every problem of a node, each at its place, and takes out what
// it reports, so that the rest can be checked further. It returns false when
// nothing of the node can be used.
func (s *shape) check(n *node, path string, diags *diag.List) bool {
	if n.kind == broken {
		return false // reported where it broke
	}
	if s.choices != nil || s.alts != nil {
		return s.checkAlternatives(n, path, diags)
	}
	if n.kind&s.kinds == 0 && !(n.kind == intKind && s.kinds&floatKind != 0) {
		diags.Errorf(diag.WrongType, n.pos, "got %s, want %s", n.typed(), s.want()).Path(path)
		return false
	}
	switch n.kind {
	case structKind:
		return s.checkStruct(n, path, diags)
	case listKind:
		if s.elem != nil {
			i := -1
			n.elems = slices.DeleteFunc(n.elems, func(e *node) bool {
				i++
				return !s.elem.check(e, fmt.Sprintf("%s[%d]", path, i), diags)
			})
		}
	default:
		for _, c := range s.checks {
			if !c.holds(n) {
				diags.Errorf(diag.BadValue, n.pos, "got %s, want %s", n, c.want()).Path(path)
				return false
			}
		}
	}
	return true
}

func (s *shape) checkAlternatives(n *node, path string, diags *diag.List) bool {
	if n.kind == stringKind && slices.Contains(s.choices, n.text) {
		return true
	}
	var fit []*shape
	for _, a := range s.alts {
		if a.kinds&n.kind != 0 {
			fit = append(fit, a)
		}
	}
	if len(fit) == 1 && (n.kind != stringKind || s.choices == nil) {
		return fit[0].check(n, path, diags)
	}
	for _, a := range fit {
		var list diag.List
		if a.check(n, path, &list); len(list) == 0 {
			return true
		}
	}
	d := diag.Diagnostic{Code: diag.BadChoice, Pos: n.pos, Path: path, Message: fmt.Sprintf("got %s, want %s", n.typed(), s.want())}
	if n.kind == stringKind {
		d.Hint = diag.DidYouMean(n.text, s.choices)
	} else {
		d.Code = diag.WrongType
	}
	*diags = append(*diags, d)
	return false
}

func (s *shape) checkStruct(n *node, path string, diags *diag.List) bool {
	var bad []string
	for _, f := range n.fields {
		at := join(path, label(f.name))
		i, known := s.index[f.name]
		ok := true
		switch {
		case known:
			ok = s.fields[i].shape.check(f.node, at, diags)
		case s.pattern != nil:
			ok = s.pattern.check(f.node, at, diags)
		case !s.open:
			var names []string
			for _, known := range s.fields {
				if n.get(known.name) == nil {
					names = append(names, known.name)
				}
			}
			diags.Errorf(diag.UnknownField, f.pos, "got unknown field %q, want one of %s", f.name, diag.Quote(s.names())).
				Path(at).
				Hint(diag.DidYouMean(f.name, names))
			ok = false
		}
		if !ok {
			bad = append(bad, f.name)
		}
	}
	whole := true
	for _, f := range s.fields {
		if f.required && n.get(f.name) == nil {
			diags.Errorf(diag.MissingField, n.pos, "got no %s, want %s", f.name, f.shape.want()).Path(path)
			whole = false
		}
		whole = whole && !(f.required && slices.Contains(bad, f.name))
	}
	n.remove(bad)
	return whole
}

func (s *shape) names() []string {
	var names []string
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return names
}

// want says what a shape accepts.
func (s *shape) want() string {
	if s.choices != nil {
		w := "one of " + diag.Quote(s.choices)
		for _, a := range s.alts {
			if a.kinds&stringKind == 0 {
				w += ", or " + a.want()
			}
		}
		return w
	}
	if s.alts != nil {
		var forms []string
		for _, a := range s.alts {
			forms = append(forms, a.want())
		}
		return strings.Join(forms, " or ")
	}
	var forms []string
	for _, c := range cueKinds {
		if s.kinds&c.kind != 0 {
			forms = append(forms, kindNames[c.kind])
		}
	}
	switch {
	case s.kinds == structKind && len(s.fields) > 0 && s.pattern == nil && !s.open:
		return "a struct of " + strings.Join(s.names(), ", ")
	case s.kinds == listKind && s.elem != nil:
		return "a list"
	}
	return strings.Join(forms, " or ")
}

func (c check) holds(n *node) bool {
	if c.re != nil {
		return c.re.MatchString(n.text)
	}
	if n.kind == stringKind {
		return c.op != cue.NotEqualOp || n.text != c.text
	}
	got, _, err := big.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 0, 64, big.ToNearestEven)
	if err != nil || c.num == nil {
		return false
	}
	switch cmp := got.Cmp(c.num); c.op {
	case cue.GreaterThanEqualOp:
		return cmp >= 0
	case cue.LessThanEqualOp:
		return cmp <= 0
	case cue.GreaterThanOp:
		return cmp > 0
	case cue.LessThanOp:
		return cmp < 0
	}
	return got.Cmp(c.num) != 0
}

func (c check) want() string {
	switch {
	case c.re != nil && c.text == `\S`:
		return "text that is not empty"
	case c.re != nil:
		return "text that matches " + c.text
	case c.op == cue.NotEqualOp && c.text == "":
		return "text that is not empty"
	case c.op == cue.GreaterThanEqualOp:
		return "at least " + c.text
	case c.op == cue.LessThanEqualOp:
		return "at most " + c.text
	}
	return fmt.Sprintf("%v %s", c.op, c.text)
}

// short cuts a text for a message.
func short(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}
