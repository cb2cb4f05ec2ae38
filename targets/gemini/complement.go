package gemini

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/targets/gemini/format"
)

// complements returns expressions that together match every call whose argument is none of some alternatives. A list
// that is too long for one expression is split by what the values begin with. Where that does not help, alternatives at
// the end are left out, and complements returns how many.
func complements(key string, alternatives []string) (exprs []string, left int) {
	list := inFrames(alternatives)
	if !slices.ContainsFunc(list, func(a string) bool { return !strings.HasPrefix(a, beforeHost) }) {
		// An address stands in a prompt in one place: its host is what is compared.
		key += beforeHost
		for i, a := range list {
			list[i] = strings.TrimPrefix(a, beforeHost)
		}
	}
	with := func(left int) []string {
		some := list[:len(list)-left]
		if c := (complement{key: key}); c.fits(some) {
			return []string{c.but("", some)}
		} else if c.split("", some, nil) {
			return c.exprs
		}
		return nil
	}
	if exprs = with(0); exprs == nil {
		left = sort.Search(len(list), func(left int) bool { return with(left) != nil })
		exprs = with(left)
	}
	return exprs, left
}

// complement collects the expressions of one.
type complement struct {
	key   string
	exprs []string
}

// but matches values that begin with one of some texts and are none of some alternatives; of "", every such call.
func (c *complement) but(begin string, alternatives []string) string {
	none := either(alternatives) + format.End
	if len(alternatives) == 0 {
		none = ""
	}
	switch {
	case begin == "":
		return unless(c.key, none)
	case none == "":
		return c.key + begin
	}
	return c.key + "(?=" + begin + ")(?!" + none + ")"
}

func (c *complement) fits(alternatives []string) bool {
	return len(c.but("", alternatives)) <= format.MostExpression
}

// split adds expressions for values that begin with a text, which some alternatives have in common, and which others,
// that begin with no text, may have. It fails where these are too long.
func (c *complement) split(begin string, list, others []string) bool {
	by := map[string][]string{}
	var next []string
	for _, a := range list {
		n := literal(a[len(begin):])
		if n == 0 {
			others = append(slices.Clip(others), a)
			continue
		}
		if with := a[:len(begin)+n]; by[with] == nil {
			next = append(next, with)
			by[with] = []string{a}
		} else {
			by[with] = append(by[with], a)
		}
	}
	if len(next) == 0 {
		return false
	}
	// Whatever begins with none of them.
	none := either(others) + format.End
	if len(others) == 0 {
		none = ""
	}
	rest := unless(c.key, strings.TrimSuffix("(?:"+strings.Join(next, "|")+"|"+none, "|")+")")
	if begin != "" {
		rest = c.key + "(?=" + begin + ")(?!" + strings.TrimSuffix(strings.Join(next, "|")+"|"+none, "|") + ")"
	}
	if len(rest) > format.MostExpression {
		return false
	}
	c.exprs = append(c.exprs, rest)
	var begins, some []string
	flush := func() {
		if len(begins) > 0 {
			c.exprs = append(c.exprs, c.but(strings.Join(begins, "|"), slices.Concat(some, others)))
		}
		begins, some = nil, nil
	}
	for _, with := range next {
		size := func(begins, some []string) int {
			return len(c.but(strings.Join(begins, "|"), slices.Concat(some, others)))
		}
		switch of := by[with]; {
		case size(append(slices.Clip(begins), with), slices.Concat(some, of)) <= format.MostExpression:
			begins, some = append(begins, with), slices.Concat(some, of)
		case size([]string{with}, of) <= format.MostExpression:
			flush()
			begins, some = []string{with}, of
		case !c.split(with, of, others):
			return false
		}
	}
	flush()
	return true
}

// literal returns how long the character is that an expression begins with, 0 where it begins with anything else.
func literal(expr string) int {
	n := 0
	switch {
	case expr == "" || strings.IndexByte(`([{*+?.^$|)`, expr[0]) >= 0:
		return 0
	case expr[0] != '\\':
		_, n = utf8.DecodeRuneInString(expr)
	case strings.HasPrefix(expr, `\x`):
		n = len(`\xHH`)
	case strings.IndexByte("./-", expr[1]) >= 0:
		n = 2
	default:
		return 0
	}
	if n < len(expr) && strings.IndexByte("*+?{", expr[n]) >= 0 {
		return 0
	}
	return n
}
