package shape

import (
	"fmt"
	"math/big"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/source"
)

// shape is a definition of the schema, read from CUE.
type shape struct {
	kinds source.Kind

	fields  []fieldShape // of a struct, in the order of the schema
	index   map[string]int
	pattern *shape // of any other field; nil: none
	open    bool   // any other field is accepted

	elem *shape // of a list

	choices []string // the strings that are accepted; nil: any
	checks  []check  // of a scalar

	alts []*shape // of a disjunction
	also []*shape // what has to accept it too: a field of its own that a pattern is about as well
}

type fieldShape struct {
	name     string
	doc      string // the schema's comment
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

// shapeReader reads definitions. It keeps those that others refer to, by path.
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
	case op == cue.AndOp && slices.ContainsFunc(args, isDisjunction):
		r.conjunction(s, args)
	case s.kinds == source.Struct:
		r.structure(s, v)
	case s.kinds == source.List:
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
	kind source.Kind
}{
	{cue.StructKind, source.Struct}, {cue.ListKind, source.List}, {cue.StringKind, source.String},
	{cue.IntKind, source.Int}, {cue.FloatKind, source.Float}, {cue.BoolKind, source.Bool}, {cue.NullKind, source.Null},
}

func kindsOf(k cue.Kind) source.Kind {
	var out source.Kind
	for _, c := range cueKinds {
		if k&c.cue != 0 {
			out |= c.kind
		}
	}
	return out
}

// disjunction reads a disjunction: literal strings become choices, anything else
// alternatives.
func (r shapeReader) disjunction(s *shape, args []cue.Value) {
	for _, a := range args {
		alt := r.shape(a)
		switch {
		case alt.alts != nil:
			s.alts = append(s.alts, alt.alts...)
			s.choices = append(s.choices, alt.choices...)
		case alt.kinds == source.String && alt.choices != nil && alt.checks == nil:
			s.choices = append(s.choices, alt.choices...)
		default:
			s.alts = append(s.alts, alt)
		}
	}
}

func isDisjunction(v cue.Value) bool {
	op, _ := cue.Dereference(v).Expr()
	return op == cue.OrOp
}

// conjunction reads a conjunction of disjunctions. The one of the fewest kinds says what is wanted.
func (r shapeReader) conjunction(s *shape, args []cue.Value) {
	for _, a := range args {
		s.also = append(s.also, r.shape(a))
	}
	slices.SortStableFunc(s.also, func(a, b *shape) int {
		return bits.OnesCount(uint(a.kinds)) - bits.OnesCount(uint(b.kinds))
	})
	first, others := s.also[0], s.also[1:]
	*s = *first
	s.also = slices.Concat(first.also, others)
}

// structure reads a struct.
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
		s.fields = append(s.fields, fieldShape{
			name: name, doc: docOf(it.Value()), shape: r.shape(it.Value()),
			required: sel.ConstraintType() == cue.RequiredConstraint,
		})
	}
	if p := v.LookupPath(cue.MakePath(cue.AnyString)); p.Exists() {
		if s.open = p.IncompleteKind() == cue.TopKind; !s.open {
			s.pattern = r.shape(p)
		}
	} else if v.Allows(cue.AnyString) {
		s.open = true
	}
}

// docOf returns the comment before a field as one line. The comment of a definition that the
// field refers to comes after it, and is left out.
func docOf(v cue.Value) string {
	for _, g := range v.Doc() {
		return strings.Join(strings.Fields(g.Text()), " ")
	}
	return ""
}

// scalar reads the bounds of a scalar.
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

// check returns the part of a node that fits, and reports the rest, so that later checks
// work with what is valid. It does not change the node. ok is false where nothing of it fits.
func (s *shape) check(n *source.Node, path string, diags *diag.List) (usable *source.Node, ok bool) {
	if n.Kind == source.Broken {
		return n, false // reported where it broke
	}
	if usable, ok = s.checkItself(n, path, diags); !ok {
		return usable, false
	}
	for _, a := range s.also {
		var list diag.List
		if _, fits := a.check(n, path, &list); !fits || len(list) > 0 {
			diags.Errorf(diag.BadValue, n.Pos, "got %s, want %s", n.Typed(), a.want()).Path(path)
			return n, false
		}
	}
	return usable, true
}

func (s *shape) checkItself(n *source.Node, path string, diags *diag.List) (usable *source.Node, ok bool) {
	if s.choices != nil || s.alts != nil {
		return s.checkAlternatives(n, path, diags)
	}
	if n.Kind&s.kinds == 0 && !(n.Kind == source.Int && s.kinds&source.Float != 0) {
		diags.Errorf(diag.WrongType, n.Pos, "got %s, want %s", n.Typed(), s.want()).Path(path).Hint(s.instead(n))
		return n, false
	}
	switch n.Kind {
	case source.Struct:
		return s.checkStruct(n, path, diags)
	case source.List:
		return s.checkList(n, path, diags), true
	}
	for _, c := range s.checks {
		if !c.holds(n) {
			diags.Errorf(diag.BadValue, n.Pos, "got %s, want %s", n, c.want()).Path(path)
			return n, false
		}
	}
	return n, true
}

func (s *shape) checkList(n *source.Node, path string, diags *diag.List) *source.Node {
	if s.elem == nil {
		return n
	}
	var left []*source.Node
	same := true
	for i, e := range n.Elems {
		usable, ok := s.elem.check(e, diag.Index(path, i), diags)
		if ok {
			left = append(left, usable)
		}
		same = same && ok && usable == e
	}
	if same {
		return n
	}
	return n.WithElems(left)
}

// checkAlternatives checks a node by the alternatives of its kind.
func (s *shape) checkAlternatives(n *source.Node, path string, diags *diag.List) (*source.Node, bool) {
	if n.Kind == source.String && slices.Contains(s.choices, n.Text) {
		return n, true
	}
	var fit []*shape
	for _, a := range s.alts {
		if a.kinds&n.Kind != 0 {
			fit = append(fit, a)
		}
	}
	if len(fit) == 1 && (n.Kind != source.String || s.choices == nil) {
		return fit[0].check(n, path, diags)
	}
	for _, a := range fit {
		var list diag.List
		if usable, _ := a.check(n, path, &list); len(list) == 0 {
			return usable, true
		}
	}
	if n.Kind == source.String {
		diags.Errorf(diag.BadChoice, n.Pos, "got %s, want %s", n.Typed(), s.want()).Path(path).
			Hint(diag.DidYouMean(n.Text, s.choices))
	} else {
		diags.Errorf(diag.WrongType, n.Pos, "got %s, want %s", n.Typed(), s.want()).Path(path).Hint(s.instead(n))
	}
	return n, false
}

// instead returns what to write in the place of a value of the wrong type, "" where that is not known.
func (s *shape) instead(n *source.Node) string {
	takes := func(k source.Kind) bool {
		return s.kinds&k != 0 || slices.ContainsFunc(s.alts, func(a *shape) bool { return a.kinds&k != 0 })
	}
	lists := func(a *shape) bool { _, ok := a.index["allow"]; return ok }
	switch {
	case n.Kind == source.Null && takes(source.Struct|source.List):
		return "nothing stands below it: what belongs to it is indented deeper"
	case n.Kind == source.String && takes(source.List):
		return fmt.Sprintf("a list of one is [%q]", n.Text)
	case n.Kind == source.Struct && n.Get("regex") != nil && takes(source.String):
		return filesOnly
	case n.Kind == source.List && (lists(s) || slices.ContainsFunc(s.alts, lists)):
		return "a list stands below a decision: {allow: [...]}"
	}
	return ""
}

// filesOnly is for a regular expression where there is none.
const filesOnly = `regular expressions are for files alone: write words, and "*" for what may follow, as "git push *"`

func (s *shape) checkStruct(n *source.Node, path string, diags *diag.List) (*source.Node, bool) {
	changed := map[string]*source.Node{}
	var bad []string
	for _, f := range n.Fields {
		usable, ok := s.checkField(n, f, diag.Join(path, diag.Label(f.Name)), diags)
		switch {
		case !ok:
			bad = append(bad, f.Name)
		case usable != f.Node:
			changed[f.Name] = usable
		}
	}
	whole := true
	for _, f := range s.fields {
		if f.required && n.Get(f.name) == nil {
			diags.Errorf(diag.MissingField, n.Pos, "the field %s is missing (%s)", f.name, f.shape.want()).Path(path)
			whole = false
		}
		whole = whole && !(f.required && slices.Contains(bad, f.name))
	}
	return n.With(changed, bad), whole
}

func (s *shape) checkField(n *source.Node, f source.Field, at string, diags *diag.List) (*source.Node, bool) {
	i, known := s.index[f.Name]
	switch {
	case known:
		return s.fields[i].shape.check(f.Node, at, diags)
	case s.pattern != nil:
		return s.pattern.check(f.Node, at, diags)
	case s.open:
		return f.Node, true
	}
	var names []string // of fields that could be meant
	for _, known := range s.fields {
		if n.Get(known.name) == nil {
			names = append(names, known.name)
		}
	}
	hint := diag.DidYouMean(f.Name, names)
	if _, ofRule := s.index["rule"]; ofRule && f.Name == "regex" {
		hint = filesOnly
	}
	diags.Errorf(diag.UnknownField, f.Pos, "got unknown field %q, want one of %s", f.Name, diag.Quote(s.names())).
		Path(at).Hint(hint)
	return f.Node, false
}

func (s *shape) names() []string {
	var names []string
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return names
}

// want says for a message what a shape accepts.
func (s *shape) want() string {
	if s.choices != nil {
		w := "one of " + diag.Quote(s.choices)
		for _, a := range s.alts {
			if a.kinds&source.String == 0 {
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
			forms = append(forms, c.kind.String())
		}
	}
	switch {
	case s.kinds == source.Struct && len(s.fields) > 0 && s.pattern == nil && !s.open:
		return "a struct of " + strings.Join(s.names(), ", ")
	case s.kinds == source.List && s.elem != nil:
		return "a list"
	}
	return strings.Join(forms, " or ")
}

// holds reports whether a scalar is within a bound.
func (c check) holds(n *source.Node) bool {
	if c.re != nil {
		return c.re.MatchString(n.Text)
	}
	if n.Kind == source.String {
		return c.op != cue.NotEqualOp || n.Text != c.text
	}
	got, _, err := big.ParseFloat(strings.ReplaceAll(n.Text, "_", ""), 0, 64, big.ToNearestEven)
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

// want says for a message what a bound accepts.
func (c check) want() string {
	switch {
	case c.re != nil && c.text == `\S`:
		return "text that is not empty"
	case c.re != nil && c.text == `^https?://[^/\s][^\s]*$`:
		return "an address of https://HOST or http://HOST, without spaces"
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
