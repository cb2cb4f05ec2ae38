package regexlang_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/regexlang"
)

// letters are those of the tests: few, so that texts meet expressions.
const letters = "aAb/.-1"

func alphabet() regexlang.Set {
	return regexlang.SetOf(func(r rune) bool { return strings.ContainsRune(letters, r) || r == regexlang.Other })
}

func text(r *rand.Rand) string {
	all := []rune(letters + string(regexlang.Other))
	out := make([]rune, r.IntN(7))
	for i := range out {
		out[i] = all[r.IntN(len(all))]
	}
	return string(out)
}

// expression draws one of a grammar, of ECMAScript where look is set.
func expression(r *rand.Rand, deep int, look bool) string {
	atoms := []string{"a", "b", "/", `\.`, ".", "[^/]", "[a-b]", "[^a1]", `\w`, `\d`, "(?:a|)", "A"}
	if deep == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	sub := func() string { return expression(r, deep-1, look) }
	switch r.IntN(10) {
	case 0:
		return "(?:" + sub() + "|" + sub() + ")"
	case 1:
		return "(?:" + sub() + ")*"
	case 2:
		return "(?:" + sub() + ")?"
	case 3:
		return "(?:" + sub() + "){1,2}"
	case 4:
		return "^" + sub()
	case 5:
		return sub() + "$"
	case 6:
		if look {
			return []string{"(?=", "(?!"}[r.IntN(2)] + sub() + ")" + sub()
		}
	case 7:
		return sub() + []string{`\b`, `\B`}[r.IntN(2)] + sub()
	}
	return sub() + sub()
}

// What is regular of an expression is what it matches.
func TestExpressions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const want = 2000
	read := 0
	for n := 0; read < want; n++ {
		if n == 10*want {
			t.Fatalf("%d of %d expressions are regular", read, n)
		}
		expr, fold := expression(r, 4, n%2 == 1), n%4 == 3
		s := regexlang.New(alphabet())
		match := regexp.MustCompile
		var l regexlang.Language
		var has func(string) bool
		if n%2 == 0 {
			var err error
			if l, err = s.Go(expr); err != nil {
				continue
			}
			has = match(expr).MatchString
		} else {
			re, err := ecma.Compile(expr, ecma.Options{IgnoreCase: fold})
			if err != nil {
				t.Fatalf("%s: %v", expr, err)
			}
			if l, err = s.ECMAScript(re.Pattern, fold); err != nil {
				continue
			}
			has = func(text string) bool {
				ok, err := re.Match(text)
				if err != nil {
					t.Fatal(err)
				}
				return ok
			}
		}
		read++
		for range 50 {
			if x, end := text(r), text(r); s.Has(s.Before(l, end), x) != has(x+end) {
				t.Fatalf("%s: got %t for %q before %q", expr, !has(x+end), x, end)
			}
			if x := text(r); s.Has(l, x) != has(x) {
				t.Fatalf("%s (in any case: %t): got %t for %q", expr, fold, s.Has(l, x), x)
			}
		}
	}
}

// Within a bound a language has all texts that an expression matches, or only such, whatever their
// characters: those that expressions tell apart are not letters here.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	groups := 0
	var draw func(deep int) string
	draw = func(deep int) string {
		if deep == 0 {
			return pick("a", `\n`, "é", "😀", "[^é]", "[^/]", ".", `\s`, `\S`, `[\uD800-\uDBFF]`, "[^a\u2028]", `\u2029`)
		}
		switch r.IntN(9) {
		case 6:
			return pick("(?<=", "(?<!") + draw(deep-1) + ")" + draw(deep-1)
		case 7:
			return pick(`\b`, `\B`) + draw(deep-1)
		case 8:
			groups++
			name := fmt.Sprintf("n%d>", groups)
			return "(?<" + name + draw(deep-1) + ")" + draw(deep-1) + `\k<` + name
		case 0:
			return "(?:" + draw(deep-1) + "|" + draw(deep-1) + ")"
		case 1:
			return "(?:" + draw(deep-1) + ")*"
		case 2:
			return pick("(?=", "(?!") + draw(deep-1) + ")" + draw(deep-1)
		case 3:
			return "^" + draw(deep-1)
		case 4:
			return draw(deep-1) + "$"
		}
		return draw(deep-1) + draw(deep-1)
	}
	all := regexlang.SetOf(func(rune) bool { return true })
	met := map[bool]int{}
	for range 4000 {
		re, err := ecma.Compile(draw(4), ecma.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := regexlang.New(all)
		least, err := s.ECMAScriptWithin(re.Pattern, regexlang.Bound{})
		if err != nil {
			continue
		}
		most, err := s.ECMAScriptWithin(re.Pattern, regexlang.Bound{Fewer: true})
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			var text, letters string
			for range r.IntN(5) {
				c := [][2]string{{"a", "a"}, {"/", "/"}, {"\n", "\n"}, {"\r", "\r"}, {"é", "中"}, {"中", "中"}, {"😀", "中中"},
					{"\u2028", "\n"}, {"\u2029", "\n"}, {"\u00a0", "中"}}[r.IntN(10)]
				text, letters = text+c[0], letters+c[1]
			}
			ok, err := re.Match(text)
			if err != nil {
				t.Fatal(err)
			}
			met[ok]++
			if ok && !s.Has(least, letters) || !ok && s.Has(most, letters) {
				t.Fatalf("%s and %q: match %t, and the languages have %q: %t and %t", re, text, ok, letters, s.Has(least, letters), s.Has(most, letters))
			}
		}
	}
	if met[true] == 0 || met[false] == 0 {
		t.Errorf("got %v", met)
	}
}

func TestMeets(t *testing.T) {
	s := regexlang.New(alphabet())
	for _, c := range []struct {
		a, b string
		want bool
	}{{`^a*$`, `b`, false}, {`^a*$`, `aaa`, true}, {`^(?:ab)*$`, `^(?:aba)*$`, true}, {`^a(?:ba)*$`, `^(?:ab)+$`, false}} {
		var of []regexlang.Language
		for _, expr := range []string{c.a, c.b} {
			l, err := s.Go(expr)
			if err != nil {
				t.Fatal(err)
			}
			of = append(of, l)
		}
		if got := s.Meets(of...); got != c.want {
			t.Errorf("%s and %s: got %t", c.a, c.b, got)
		}
	}
}

func TestNotRegular(t *testing.T) {
	s := regexlang.New(alphabet())
	for _, expr := range []string{`(a)\1`, `(?<=a)b`, `(?:a\b)*`, `(?:a$)*`, `a{2000}`} {
		p, err := ecma.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.ECMAScript(p, false); err == nil {
			t.Errorf("%s: got a language", expr)
		}
	}
	for _, expr := range []string{`(?m)^a`, `(?:a$)*`, `(?:a\b)*`} {
		if _, err := s.Go(expr); err == nil {
			t.Errorf("%s: got a language", expr)
		}
	}
}

// mixed returns a language that is made of some others.
func mixed(r *rand.Rand, s *regexlang.Space, of []regexlang.Language, deep int) regexlang.Language {
	one := func() regexlang.Language { return mixed(r, s, of, deep-1) }
	if deep == 0 {
		return of[r.IntN(len(of))]
	}
	switch r.IntN(5) {
	case 0:
		return s.Not(one())
	case 1:
		return s.And(one(), one())
	case 2:
		return s.Or(one(), one(), one())
	case 3:
		return s.Without(one(), one())
	}
	return one()
}

// Every combination that a text meets is a cell, and its text meets it.
func TestCells(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 600 {
		s := regexlang.New(alphabet())
		if n%2 == 1 {
			s.CutAt('/')
		}
		var of []regexlang.Language
		var exprs []string
		for len(of) < 4 {
			expr := expression(r, 3, false)
			if l, err := s.Go(expr); err == nil {
				of, exprs = append(of, l), append(exprs, expr)
			}
		}
		if n%4 > 1 {
			all := s.Or(regexlang.Empty, s.Cat(s.And(regexlang.Some, s.Chars(alphabet())), regexlang.All)) // and is not seen to be
			pool := append(slices.Clone(of), all)
			for i := range of {
				of[i] = mixed(r, s, pool, 3)
			}
		}
		within, err := s.Go(`^[^/]+(?:/[^/]+)*$`)
		if err != nil {
			t.Fatal(err)
		}
		cells, ok := s.Cells(within, regexlang.MostStates, of[:n/2%5], of[n/2%5:])
		if !ok {
			t.Fatalf("%q: too many states", exprs)
		}
		meets := func(x string) string {
			var in []bool
			for _, l := range of {
				in = append(in, s.Has(l, x))
			}
			return fmt.Sprint(in)
		}
		seen := map[string]int{}
		for i, c := range cells {
			if fmt.Sprint(c.In) != meets(c.Text) || !s.Has(within, c.Text) {
				t.Fatalf("%q: the cell %v has %q", exprs, c.In, c.Text)
			}
			if i > 0 && len([]rune(c.Text)) < len([]rune(cells[i-1].Text)) {
				t.Errorf("%q: %q stands behind %q", exprs, c.Text, cells[i-1].Text)
			}
			seen[fmt.Sprint(c.In)] = len([]rune(c.Text))
		}
		if len(seen) != len(cells) {
			t.Errorf("%q: %d cells for %d combinations", exprs, len(cells), len(seen))
		}
		for range 300 {
			x := text(r)
			if !s.Has(within, x) {
				continue
			}
			if n, ok := seen[meets(x)]; !ok || n > len([]rune(x)) {
				t.Fatalf("%q: %q meets %s, which is no cell of %d letters at most", exprs, x, meets(x), n)
			}
		}
	}
}

// Unions of what matches anywhere have few states: as many as letters.
func TestCellsOfGlobs(t *testing.T) {
	s := regexlang.New(regexlang.SetOf(func(r rune) bool { return r >= ' ' }))
	var deny, allow []regexlang.Language
	for i := range 40 {
		l, err := s.Go(fmt.Sprintf(`(?s)^(?:.*/)?name%c%c\.x(?:/.*)?$`, 'a'+i%26, 'a'+i/26))
		if err != nil {
			t.Fatal(err)
		}
		deny = append(deny, l)
	}
	for i := range 10 {
		l, err := s.Go(fmt.Sprintf(`(?s)^dir%d/(?:.*/)?[^/]*\.(?:md|txt)$`, i))
		if err != nil {
			t.Fatal(err)
		}
		allow = append(allow, l)
	}
	within, err := s.Go(`^[^/]+(?:/[^/]+)*$`)
	if err != nil {
		t.Fatal(err)
	}
	cells, ok := s.Cells(within, regexlang.MostStates, []regexlang.Language{s.Or(deny...), s.Or(allow...)})
	if !ok {
		t.Fatal("too many states")
	}
	var texts []string
	for _, c := range cells {
		texts = append(texts, c.Text)
	}
	if want := []string{"x", "dir1/.md", "namexa.x", "dir1/namexa.x/.md"}; !slices.Equal(texts, want) {
		t.Errorf("got %q", texts)
	}
}

// A combination that takes more states than the bound is not looked at; one below it is.
func TestMostStates(t *testing.T) {
	for _, c := range []struct {
		letters int // behind the last place of an "a", so that each is remembered
		ok      bool
	}{{13, true}, {16, false}} {
		s := regexlang.New(alphabet())
		l, err := s.Go(fmt.Sprintf(`a.{%d}$`, c.letters))
		if err != nil {
			t.Fatal(err)
		}
		if cells, ok := s.Cells(regexlang.All, regexlang.MostStates, []regexlang.Language{l}); ok != c.ok || ok && len(cells) != 2 {
			t.Errorf("%d letters: got %d cells, %t", c.letters, len(cells), ok)
		}
	}
}

// What a Space that cuts texts finds, and when it gives up: at too many places at which a piece may begin.
func TestCutAt(t *testing.T) {
	for _, c := range []struct {
		names int // that stand in a row: so many places
		ok    bool
	}{{500, true}, {1500, false}} {
		s := regexlang.New(alphabet()).CutAt('/')
		within, err := s.Go(`^[^/]+(?:/[^/]+)*$`)
		if err != nil {
			t.Fatal(err)
		}
		long := s.Text(strings.Repeat("a/", c.names) + "b")
		cells, ok := s.Cells(within, regexlang.MostStates, []regexlang.Language{long})
		if ok != c.ok || ok && len(cells) != 2 {
			t.Errorf("%d names: got %d cells, %t", c.names, len(cells), ok)
		}
		// What was given up is so again, and what is forgotten is found anew.
		s.ForgetStates()
		if _, ok := s.Cells(within, regexlang.MostStates, []regexlang.Language{long}); ok != c.ok {
			t.Errorf("%d names once more: got %t", c.names, ok)
		}
		if few, ok := s.Cells(within, 3, []regexlang.Language{long}); ok {
			t.Errorf("%d names in 3 states: got %d cells", c.names, len(few))
		}
	}
}

// Many patterns of many parts that stand anywhere take more work than there is; one does not.
func TestMostWork(t *testing.T) {
	for _, c := range []struct {
		patterns int
		ok       bool
	}{{1, true}, {60, false}} {
		s := regexlang.New(alphabet())
		r := rand.New(rand.NewPCG(1, 2))
		var any []regexlang.Language
		for range c.patterns {
			of := []regexlang.Language{regexlang.All}
			for range 40 {
				of = append(of, s.Text(string(letters[r.IntN(len(letters))])), regexlang.All)
			}
			any = append(any, s.Cat(of...))
		}
		if _, ok := s.Cells(regexlang.All, regexlang.MostStates, []regexlang.Language{s.Or(any...)}); ok != c.ok {
			t.Errorf("%d patterns: got %t, want %t", c.patterns, ok, c.ok)
		}
	}
}

// A language of paths that has none of the plain ones has no cells.
func TestNoPieces(t *testing.T) {
	s := regexlang.New(alphabet()).CutAt('/')
	l, err := s.Go(`^a/$`)
	if err != nil {
		t.Fatal(err)
	}
	within, err := s.Go(`^[ab]+(/[ab]+)*$`)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Meets(l, within); got {
		t.Errorf("Meets = %v, want false", got)
	}
	if cells, ok := s.Cells(s.And(l, within), regexlang.MostStates, []regexlang.Language{within}); !ok || len(cells) > 0 {
		t.Errorf("Cells = %v, %v, want none", cells, ok)
	}
}

// ending returns the texts that have two words of one of some pairs, and end with another one behind them: it has many
// states, and each takes work.
func ending(s *regexlang.Space, pairs int, end string) regexlang.Language {
	r := rand.New(rand.NewPCG(3, 4))
	word := func() regexlang.Language {
		var word strings.Builder
		for range 5 {
			word.WriteByte("ab1-"[r.IntN(4)])
		}
		return s.Text(word.String())
	}
	var any []regexlang.Language
	for range pairs {
		any = append(any, s.Cat(regexlang.All, word(), regexlang.All, word(), s.Text(end)))
	}
	return s.Or(any...)
}

// Whether several languages take too much work does not depend on which a Space was asked for before.
func TestMostWorkOnceMore(t *testing.T) {
	s, again := regexlang.New(alphabet()), regexlang.New(alphabet())
	var all, allAgain []regexlang.Language
	for _, end := range []string{"a", "b", "1", "-", "."} {
		all, allAgain = append(all, ending(s, 8, end)), append(allAgain, ending(again, 8, end))
		if _, ok := again.Cells(regexlang.All, regexlang.MostStates, allAgain[len(allAgain)-1:]); !ok {
			t.Fatalf("too much for those that end in %q", end)
		}
	}
	_, first := s.Cells(regexlang.All, regexlang.MostStates, all)
	_, later := again.Cells(regexlang.All, regexlang.MostStates, allAgain)
	if first || later {
		t.Errorf("got %t, and %t where each was asked for before, want false", first, later)
	}
}

// Whether a language takes too much work for few states does not depend on whether it was cut for more.
func TestPiecesOnceMore(t *testing.T) {
	const few = 5000
	s, again := regexlang.New(alphabet()).CutAt('/'), regexlang.New(alphabet()).CutAt('/')
	all, allAgain := []regexlang.Language{ending(s, 8, "a")}, []regexlang.Language{ending(again, 8, "a")}
	if _, ok := again.Cells(regexlang.All, regexlang.MostStates, allAgain); !ok {
		t.Fatal("too much for most states")
	}
	_, first := s.Cells(regexlang.All, few, all)
	_, later := again.Cells(regexlang.All, few, allAgain)
	if first || later {
		t.Errorf("got %t, and %t where it was cut for more states, want false", first, later)
	}
}

// What is found of languages that are put together, and whether they take too much work, does not depend on what a
// Space was asked before, on what it forgot, nor on the order in which the languages were made.
func TestCombinedOnceMore(t *testing.T) {
	const few = 5000
	pairs := [][]int{{5, 1, 1}, {6, 6, 1}, {6, 6, 6}, {7, 7, 2}, {7, 7, 7}}
	given := map[bool]int{}
	for n, sizes := range pairs {
		// Each has what its ends say, but not some of a list.
		made := func(s *regexlang.Space, backward bool) (regexlang.Language, []regexlang.Language) {
			of := make([]regexlang.Language, len(sizes))
			for i := range of {
				at := i
				if backward {
					at = len(of) - 1 - i
				}
				of[at] = ending(s, sizes[at], string("ab1"[at]))
			}
			not := func(l regexlang.Language) regexlang.Language { return s.Not(s.And(l, s.Not(s.Text("a/b")))) }
			return s.And(s.Not(of[0]), not(of[1]), not(of[2])), of
		}
		ask := func(backward bool, before func(s *regexlang.Space, l regexlang.Language, of []regexlang.Language)) string {
			s := regexlang.New(alphabet()).CutAt('/')
			l, of := made(s, backward)
			before(s, l, of)
			cells, ok := s.Cells(regexlang.All, few, []regexlang.Language{l})
			given[ok]++
			return fmt.Sprint(cells, ok)
		}
		nothing := func(*regexlang.Space, regexlang.Language, []regexlang.Language) {}
		want := ask(false, nothing)
		for name, got := range map[string]string{
			"made the other way round": ask(true, nothing),
			"asked with another one": ask(false, func(s *regexlang.Space, l regexlang.Language, _ []regexlang.Language) {
				s.Cells(regexlang.All, few, []regexlang.Language{l, s.Text("a")})
			}),
			"asked for more states": ask(true, func(s *regexlang.Space, l regexlang.Language, _ []regexlang.Language) {
				s.Cells(regexlang.All, regexlang.MostStates, []regexlang.Language{l})
			}),
			"forgotten": ask(false, func(s *regexlang.Space, l regexlang.Language, of []regexlang.Language) {
				s.Cells(regexlang.All, few, of)
				s.Cells(regexlang.All, few, []regexlang.Language{l})
				s.ForgetStates()
			}),
		} {
			if got != want {
				t.Errorf("%d, %s: got %s, want %s", n, name, got, want)
			}
		}
	}
	if given[true] == 0 || given[false] == 0 {
		t.Errorf("the languages do not stand on both sides of the bound: %v", given)
	}
}

// Where a piece may begin at many places, and goes through many states at each, it is work to look up what is known.
func TestManyPlaces(t *testing.T) {
	for _, c := range []struct {
		places int
		ok     bool
	}{{200, true}, {900, false}} {
		s := regexlang.New(alphabet()).CutAt('/')
		r := rand.New(rand.NewPCG(1, 2))
		var any []regexlang.Language
		for n := range c.places {
			name := strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%b", n))
			var word strings.Builder
			for range 6 {
				word.WriteByte("ab1-.A"[r.IntN(6)])
			}
			any = append(any, s.Cat(s.Text(name+"/"), regexlang.All, s.Text(word.String())))
		}
		if _, ok := s.Cells(regexlang.All, regexlang.MostStates, []regexlang.Language{s.Or(any...)}); ok != c.ok {
			t.Errorf("%d places: got %t, want %t", c.places, ok, c.ok)
		}
	}
}

// Of an expression that repeats what repeats, and may begin anywhere, the same unions are made again and again: without
// end, were each not made once.
func TestNestedRepetition(t *testing.T) {
	s := regexlang.New(alphabet())
	l, err := s.Go(`(?:a{1,20}b){1,20}$`)
	if err != nil {
		t.Fatal(err)
	}
	if cells, ok := s.Cells(regexlang.All, regexlang.MostStates, []regexlang.Language{l}); !ok || len(cells) != 2 {
		t.Errorf("got %d cells, %t", len(cells), ok)
	}
}
