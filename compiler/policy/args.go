package policy

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modec.dev/modec/compiler/ir"
)

// fits reports whether a call has the arguments of a rule. In a deny or an ask an argument that is not known fits, and
// letters do in either case.
func (r *toolRule) fits(a Action) bool {
	if a.Most {
		return r.args == nil || r.result.Decision == ir.Allow
	}
	for _, of := range r.args {
		text, known := argument(jsontext.Value(a.Args), of.Name)
		switch d := r.result.Decision; {
		case d == ir.Allow && !(known && starred(of.Value, text)),
			d < ir.Allow && known && !starred(Fold(of.Value), Fold(text)):
			return false
		}
	}
	return true
}

// argument returns the text of an argument by its name, or its path in objects. It reports false for one that is
// not there, is no text, number, true or false, or that programs read in different ways: a name that stands twice or
// in different letters, and a number such as 1e2, or one that floating point has not exactly.
func argument(object jsontext.Value, path string) (text string, known bool) {
	var members map[string]jsontext.Value
	if json.Unmarshal(object, &members) != nil {
		return "", false
	}
	name, rest, deeper := strings.Cut(path, ".")
	for other := range members {
		if other != name && strings.EqualFold(other, name) {
			return "", false
		}
	}
	value := members[name]
	switch kind := value.Kind(); {
	case deeper:
		return argument(value, rest)
	case kind == '"':
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case kind == '0':
		n, _ := strconv.ParseFloat(string(value), 64)
		text = strconv.FormatFloat(n, 'f', -1, 64)
		return text, text == string(value) && text != "-0" && math.Abs(n) < 1<<53
	}
	return string(value), value.Kind() == 't' || value.Kind() == 'f'
}

// starred reports whether a text matches a glob of "*" alone.
func starred(glob, text string) bool {
	begin, glob, star := strings.Cut(glob, "*")
	text, ok := strings.CutPrefix(text, begin)
	for ok && star {
		var part string
		if part, glob, star = strings.Cut(glob, "*"); !star {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return ok && text == ""
}
