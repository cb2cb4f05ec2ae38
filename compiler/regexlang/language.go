// Package regexlang computes with regular languages: which texts an expression or a glob matches,
// what several of them have in common, and which combinations of them some text meets.
//
// A [Space] keeps languages in a form in which equal ones are mostly the same value, and takes
// them letter by letter to what is left of them (Brzozowski's derivatives; the rules by which
// forms are kept small and alphabets are cut into classes are those of Owens, Reppy and Turon,
// "Regular-expression derivatives re-examined", 2009). [Space.Cells] walks several languages at
// once.
package regexlang

import (
	"slices"
	"unicode/utf8"
)

// Other stands for all characters outside of ASCII: it is one that has no case, no composed form
// and no width of its own.
const Other = '中'

// Set is a set of letters: those of ASCII, of which NUL stands for [Other].
type Set [2]uint64

// letter returns the letter of a character.
func letter(r rune) byte {
	if r >= utf8.RuneSelf {
		return 0
	}
	return byte(r)
}

// has reports whether a letter is in the set.
func (s Set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s *Set) add(c byte) { s[c>>6] |= 1 << (c & 63) }

// SetOf returns the set of the characters for which in reports true.
func SetOf(in func(rune) bool) Set {
	var s Set
	for c := byte(1); c < utf8.RuneSelf; c++ {
		if in(rune(c)) {
			s.add(c)
		}
	}
	if in(Other) {
		s.add(0)
	}
	return s
}

func (s Set) and(o Set) Set { return Set{s[0] & o[0], s[1] & o[1]} }
func (s Set) or(o Set) Set  { return Set{s[0] | o[0], s[1] | o[1]} }

// Or returns the letters of either set.
func (s Set) Or(o Set) Set { return s.or(o) }

func (s Set) not() Set { return Set{^s[0], ^s[1]} }

// Language is a language of a Space.
type Language int32

// The languages that every Space has.
const (
	None  Language = iota // of no text
	Empty                 // of the empty text
	All                   // of every text
	Some                  // of every text but the empty one
)

type operation uint8

const (
	none operation = iota
	empty
	chars
	cat
	star
	or
	and
	not
	skipping
	before // a text: b is its number
)

// node is how a language is made, of two equal ones there is one, and what is known of it. There are
// many: so it is small, and has no pointers.
type node struct {
	operation
	nullable bool // it has the empty text
	// a and b are the languages that it is made of. Of chars a is the number of its set, of or and and
	// where their operands begin, and b how many they are.
	a, b    Language
	classes int32 // of the letters: the number of the partition; -1 where it was not asked for
	left    int32 // where what is left after a letter of each class begins
}

// Space keeps languages over one alphabet. It is not safe for concurrent use.
type Space struct {
	*partitions
	nodes    []node
	forms    table
	sets     []Set
	ofSet    map[Set]Language
	joined   []Language // the operands of all or and and
	left     []Language // what is left of all languages; -1 where it was not asked for
	operands []Language // of languages that are being made
	begins   []uint32   // of each language: when it was last asked whether one begins with it
	asked    uint32
	counted  []uint32 // of each language: when it was last counted ([Space.toDerive])
	count    uint32
	named    map[any]Language
	unions   map[string]Language // of what follows one beginning
	key      []byte              // of such a union
	texts    []string            // before which languages are asked for
	hashes   map[Language]uint64 // of those that were put in order

	separator int // letter at which texts are cut into pieces; 0 for none
	cut       map[cutName]*pieces
	tracks    map[string]*track
	cells     map[string]*cells
	machines  map[string]*machine
	products  map[[2]*machine]*machine
	scratch   *Space // what is left within pieces, of one language at a time
	size      int    // how many bytes machines, tracks, cells and the pieces of languages take
	work      int    // how many operands were taken to derivatives, and joined
	buffers
}

// New returns a Space over the texts of some characters. What an expression says of any other
// character is left out.
func New(alphabet Set) *Space { return newSpace(newPartitions(alphabet)) }

func newSpace(p *partitions) *Space {
	s := &Space{partitions: p, ofSet: map[Set]Language{}, named: map[any]Language{}, unions: map[string]Language{},
		hashes: map[Language]uint64{},
		cells:  map[string]*cells{}, machines: map[string]*machine{},
		products: map[[2]*machine]*machine{}, cut: map[cutName]*pieces{}, tracks: map[string]*track{}}
	s.begin()
	return s
}

// begin makes the languages that every Space has.
func (s *Space) begin() {
	s.intern(none, 0, 0)
	s.intern(empty, 0, 0)
	s.intern(not, None, 0)
	s.intern(not, Empty, 0)
}

// forget forgets all languages but these.
func (s *Space) forget() {
	s.nodes, s.sets, s.joined, s.left, s.texts = s.nodes[:0], s.sets[:0], s.joined[:0], s.left[:0], s.texts[:0]
	s.begins, s.asked = s.begins[:0], 0
	s.counted, s.count = s.counted[:0], 0
	s.forms.reset()
	clear(s.ofSet)
	clear(s.named)
	clear(s.unions)
	clear(s.hashes)
	s.ForgetStates()
	s.begin()
}

// take returns the language that another Space of the same letters has. It has taken those that are known.
func (s *Space) take(from *Space, l Language, known map[Language]Language) Language {
	if l <= Some {
		return l
	}
	if out, ok := known[l]; ok {
		return out
	}
	var out Language
	switch n := from.nodes[l]; n.operation {
	case chars:
		out = s.Chars(from.setOf(l))
	case cat:
		out = s.cat(s.take(from, n.a, known), s.take(from, n.b, known))
	case star:
		out = s.Star(s.take(from, n.a, known))
	case not:
		out = s.Not(s.take(from, n.a, known))
	case skipping:
		out = s.Skipping(s.take(from, n.a, known))
	case before:
		out = s.Before(s.take(from, n.a, known), from.texts[n.b])
	case or, and:
		of := make([]Language, n.b)
		for i, o := range from.operandsOf(l) {
			of[i] = s.take(from, o, known)
		}
		if n.operation == or {
			out = s.Or(of...)
		} else {
			out = s.And(of...)
		}
	}
	known[l] = out
	return out
}

// CutAt returns a Space of which [Space.Cells] walks texts piece by piece, from one separator to the next.
func (s *Space) CutAt(separator byte) *Space {
	s.separator = int(separator)
	return s
}

// intern returns the language that an operation makes of others, or of a set.
func (s *Space) intern(op operation, a, b Language) Language {
	hash := hashed(hashed(hashed(firstHash, uint32(op)), uint32(a)), uint32(b))
	n, known := s.forms.number(folded(hash), func(n int) bool {
		of := &s.nodes[n]
		return of.operation == op && of.a == a && of.b == b
	})
	if !known {
		s.add(op, a, b)
	}
	return Language(n)
}

// internJoined does so for operands in order, which it keeps a copy of.
func (s *Space) internJoined(op operation, of []Language) Language {
	hash := hashed(firstHash, uint32(op))
	for _, l := range of {
		hash = hashed(hash, uint32(l))
	}
	n, known := s.forms.number(folded(hash), func(n int) bool {
		return s.nodes[n].operation == op && slices.Equal(s.operandsOf(Language(n)), of)
	})
	if !known {
		at := len(s.joined)
		s.joined = append(s.joined, of...)
		s.add(op, Language(at), Language(len(of)))
	}
	return Language(n)
}

func (s *Space) add(op operation, a, b Language) {
	n := node{operation: op, a: a, b: b, classes: -1}
	switch op {
	case empty, star:
		n.nullable = true
	case cat:
		n.nullable = s.hasEmpty(a) && s.hasEmpty(b)
	case not:
		n.nullable = !s.hasEmpty(a)
	case before:
		n.nullable = s.Has(a, s.texts[b])
	case or:
		n.nullable = slices.ContainsFunc(s.joined[a:a+b], s.hasEmpty)
	case and:
		n.nullable = !slices.ContainsFunc(s.joined[a:a+b], func(l Language) bool { return !s.hasEmpty(l) })
	}
	s.nodes, s.begins = append(s.nodes, n), append(s.begins, 0)
}

// operandsOf returns those of an or or an and.
func (s *Space) operandsOf(l Language) []Language {
	n := &s.nodes[l]
	return s.joined[n.a : n.a+n.b : n.a+n.b]
}

// setOf returns the letters of a chars.
func (s *Space) setOf(l Language) Set { return s.sets[s.nodes[l].a] }

// Once returns the language of a name, which is made where the Space does not have it.
func (s *Space) Once(name any, make func() (Language, error)) (Language, error) {
	if l, ok := s.named[name]; ok {
		return l, nil
	}
	l, err := make()
	if err == nil {
		s.named[name] = l
	}
	return l, err
}

// Size returns how many bytes the languages take, and how many the states of several of them at once.
func (s *Space) Size() (languages, states int) {
	languages = s.partitions.size() + s.sizeOfNodes()
	if s.scratch != nil {
		languages += s.scratch.sizeOfNodes()
	}
	return languages, s.size
}

// sizeOfNodes returns how many bytes the languages take, but for their partitions.
func (s *Space) sizeOfNodes() int {
	const ofNode, ofUnion, ofHash = 28, 64, 24
	return ofNode*cap(s.nodes) + ofSlot*len(s.forms.slots) + ofNumber*(cap(s.joined)+cap(s.left)+cap(s.begins)+
		cap(s.counted)+2*cap(s.states.met)) + ofUnion*len(s.unions) + ofHash*len(s.hashes)
}

// ForgetStates frees what [Space.Cells] visited. What is known of the languages themselves stays.
func (s *Space) ForgetStates() {
	clear(s.cells)
	clear(s.cut)
	clear(s.tracks)
	clear(s.machines)
	clear(s.products)
	s.size = 0
}

func (s *Space) hasEmpty(l Language) bool { return s.nodes[l].nullable }

// Chars returns the language of the texts of one letter.
func (s *Space) Chars(of Set) Language {
	if of = of.and(s.alphabet); of == (Set{}) {
		return None
	}
	n, known := s.ofSet[of]
	if !known {
		n = s.intern(chars, Language(len(s.sets)), 0)
		s.sets = append(s.sets, of)
		s.ofSet[of] = n
	}
	return n
}

// Text returns the language of one text; None where a character of it is not in the alphabet, or
// is outside of ASCII: such a letter is only one of the others.
func (s *Space) Text(text string) Language { return s.TextOf(text, letterSet) }

// TextInAnyCase returns the language of a text in upper and lower case.
func (s *Space) TextInAnyCase(text string) Language { return s.TextOf(text, letterSetInAnyCase) }

// TextOf returns the texts whose letters are each one of the set of the letter of a text that stands there.
func (s *Space) TextOf(text string, set func(rune) Set) Language {
	l := Empty
	runes := []rune(text)
	for _, r := range slices.Backward(runes) {
		l = s.Cat(s.Chars(set(r)), l)
	}
	return l
}

func letterSet(r rune) (set Set) {
	if r > 0 && r < utf8.RuneSelf {
		set.add(byte(r))
	}
	return set
}

func letterSetInAnyCase(r rune) Set {
	set := letterSet(r)
	switch {
	case 'a' <= r && r <= 'z':
		set.add(byte(r - 'a' + 'A'))
	case 'A' <= r && r <= 'Z':
		set.add(byte(r - 'A' + 'a'))
	}
	return set
}

// Cat returns the texts of several languages one behind the other.
func (s *Space) Cat(of ...Language) Language {
	l := Empty
	for _, a := range slices.Backward(of) {
		l = s.cat(a, l)
	}
	return l
}

func (s *Space) cat(a, b Language) Language {
	switch {
	case a == None || b == None:
		return None
	case a == Empty:
		return b
	case b == Empty:
		return a
	case a == All && (b == All || s.nodes[b].operation == star):
		return All // the star has the empty text
	case a == All && s.nodes[b].operation == cat && s.nodes[b].a == All:
		return b
	case s.nodes[a].operation == cat:
		return s.cat(s.nodes[a].a, s.cat(s.nodes[a].b, b))
	}
	return s.intern(cat, a, b)
}

// Pieces returns the texts that some parts make, one behind the other with anything between them.
func (s *Space) Pieces(parts []string, text func(string) Language) Language {
	of := make([]Language, 0, 2*len(parts))
	for i, part := range parts {
		if i > 0 {
			of = append(of, All)
		}
		of = append(of, text(part))
	}
	return s.Cat(of...)
}

// Word returns the texts without a blank.
func (s *Space) Word() Language { return s.Star(s.Chars(blank.not())) }

// MoreWords returns what may follow a word: nothing, or a blank and anything.
func (s *Space) MoreWords() Language { return s.Optional(s.Cat(s.Chars(blank), All)) }

// Star returns the texts that are made of any number of texts of a language.
func (s *Space) Star(a Language) Language {
	switch n := &s.nodes[a]; {
	case a <= Empty:
		return Empty
	case a == All || n.operation == star:
		return a
	case n.operation == chars && s.setOf(a) == s.alphabet:
		return All
	}
	return s.intern(star, a, 0)
}

// Optional returns a language and the empty text.
func (s *Space) Optional(a Language) Language { return s.Or(a, Empty) }

// Not returns every other text.
func (s *Space) Not(a Language) Language {
	switch {
	case a == All:
		return None
	case s.nodes[a].operation == not:
		return s.nodes[a].a
	}
	return s.intern(not, a, 0)
}

// Skipping returns the texts that are in a language without some words behind their first one, or as
// they are. One without a blank is not.
func (s *Space) Skipping(a Language) Language {
	if a == None {
		return None
	}
	return s.intern(skipping, a, 0)
}

var blank = letterSet(' ')

// Or returns the texts of any of several languages.
func (s *Space) Or(of ...Language) Language { return s.join(or, None, All, of) }

// And returns the texts that several languages have in common.
func (s *Space) And(of ...Language) Language { return s.join(and, All, None, of) }

// Without returns the texts of a language that another one does not have.
func (s *Space) Without(a, b Language) Language { return s.And(a, s.Not(b)) }

// join puts operands in order, each once. Of unit and absorbing there is none, or nothing else.
func (s *Space) join(op operation, unit, absorbing Language, of []Language) Language {
	begin := len(s.operands)
	defer func() { s.operands = s.operands[:begin] }()
	s.operands = s.flat(op, s.operands, of)
	all := s.operands[begin:]
	s.work += len(all)
	if op == or {
		all = s.oneBeginning(s.oneSet(all))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	kept := all[:0]
	for _, l := range all {
		switch l {
		case absorbing:
			return absorbing
		case unit:
		default:
			kept = append(kept, l)
		}
	}
	for _, l := range kept {
		if n := &s.nodes[l]; n.operation == not {
			if _, both := slices.BinarySearch(kept, n.a); both {
				return absorbing
			}
		}
	}
	switch len(kept) {
	case 0:
		return unit
	case 1:
		return kept[0]
	}
	return s.internJoined(op, kept)
}

func (s *Space) flat(op operation, into, of []Language) []Language {
	for _, l := range of {
		if s.nodes[l].operation == op {
			into = append(into, s.operandsOf(l)...)
		} else {
			into = append(into, l)
		}
	}
	return into
}

// oneSet joins the sets of letters among the operands of an or into one.
func (s *Space) oneSet(of []Language) []Language {
	var set Set
	found := 0
	for _, l := range of {
		if s.nodes[l].operation == chars {
			set = set.or(s.setOf(l))
			found++
		}
	}
	if found < 2 {
		return of
	}
	of = slices.DeleteFunc(of, func(l Language) bool { return s.nodes[l].operation == chars })
	return append(of, s.Chars(set))
}

// oneBeginning joins the operands of an or that begin with the same language: so a union of what
// begins anywhere has few states.
func (s *Space) oneBeginning(of []Language) []Language {
	if !s.beginAlike(of) {
		return of
	}
	for i := 0; i < len(of); i++ {
		n := s.nodes[of[i]]
		if n.operation != cat {
			continue
		}
		begin := len(s.operands)
		rest := of[:i+1]
		for _, l := range of[i+1:] {
			if o := &s.nodes[l]; o.operation == cat && o.a == n.a {
				s.operands = append(s.operands, o.b)
			} else {
				rest = append(rest, l)
			}
		}
		if of = rest; len(s.operands) > begin {
			s.operands = append(s.operands, n.b)
			of[i] = s.cat(n.a, s.orOnce(s.operands[begin:]))
			s.operands = s.operands[:begin]
		}
	}
	return of
}

// orOnce returns the union of what follows one beginning, which begins alike again where an expression repeats: it is
// the same for many beginnings.
func (s *Space) orOnce(of []Language) Language {
	slices.Sort(of)
	s.key = appendAll(s.key[:0], of)
	l, known := s.unions[string(s.key)]
	if !known {
		key := string(s.key)
		l = s.Or(of...)
		s.unions[key] = l
	}
	return l
}

// beginAlike reports whether two of some languages begin with the same one.
func (s *Space) beginAlike(of []Language) bool {
	s.asked++
	for _, l := range of {
		if n := &s.nodes[l]; n.operation == cat {
			if s.begins[n.a] == s.asked {
				return true
			}
			s.begins[n.a] = s.asked
		}
	}
	return false
}

// Has reports whether a language has a text.
func (s *Space) Has(l Language, text string) bool { return s.nodes[s.After(l, text)].nullable }

// Before returns what stands before a text in the texts of a language that end with it.
func (s *Space) Before(l Language, text string) Language {
	n := slices.Index(s.texts, text)
	if n < 0 {
		n, s.texts = len(s.texts), append(s.texts, text)
	}
	return s.before(l, Language(n))
}

func (s *Space) before(l, text Language) Language {
	if l == None || l == All {
		return l
	}
	s.Has(l, s.texts[text]) // so that nothing is made while this language is
	return s.intern(before, l, text)
}

// After returns what follows a text in the texts of a language that begin with it.
func (s *Space) After(l Language, text string) Language {
	for _, r := range text {
		l = s.after(l, letter(r))
	}
	return l
}
