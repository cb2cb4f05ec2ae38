package regexlang

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

// MostStates bounds how many states [Space.Cells] visits, and mostWork how many operands it takes to
// derivatives, and joins, for one part.
const (
	MostStates = 50_000
	mostWork   = 1_000_000
)

// lookups is how often it takes to look up what is known of a language after a letter until that is work like an
// operand.
const lookups = 16

// Cell is a combination of languages that some text meets.
type Cell struct {
	Text string // the shortest text that meets it, and of these the first by how plain its letters are
	In   []bool // which of the languages have the text
}

type cells struct {
	list []Cell
	ok   bool
}

// Cells returns each combination of some languages that a text of within meets, those of short
// texts first. It fails where more than most states have to be visited, or more than [MostStates]. What
// several calls have in common is best in the first parts: these are looked at once.
func (s *Space) Cells(within Language, most int, parts ...[]Language) ([]Cell, bool) {
	most = min(most, MostStates)
	parts = slices.DeleteFunc(slices.Clone(parts), func(of []Language) bool { return len(of) == 0 })
	key := binary.LittleEndian.AppendUint32(nil, uint32(most))
	for _, of := range append(parts, []Language{within}) {
		key = append(appendAll(key, of), "|"...)
	}
	if c := s.cells[string(key)]; c != nil {
		return c.list, c.ok
	}
	c := &cells{}
	s.cells[string(key)] = c
	for i, of := range parts {
		parts[i] = append([]Language{within}, of...)
	}
	if len(parts) == 0 {
		parts = [][]Language{{within}}
	}
	if s.separator > 0 {
		c.list, c.ok = s.byPiece(parts, most)
	} else {
		c.list, c.ok = s.byLetter(parts, most)
	}
	for i := range c.list {
		s.size += ofCell + len(c.list[i].Text) + len(c.list[i].In)
	}
	return c.list, c.ok
}

// byLetter returns the cells of some lists of languages, each within its first one, which is the same.
func (s *Space) byLetter(parts [][]Language, most int) ([]Cell, bool) {
	machines := make([]*machine, len(parts))
	for i, of := range parts {
		if machines[i] = s.machine(of); !machines[i].ok {
			return nil, false
		}
	}
	first, last := machines[0], machines[len(machines)-1]
	if len(machines) == 1 {
		return first.cells(), true
	}
	for _, m := range machines[1 : len(machines)-1] {
		if first = s.product(first, m); !first.ok {
			return nil, false
		}
	}
	w := walk{Space: s, a: first, b: last}
	if !w.run(nil, most) {
		return nil, false
	}
	return w.cells, true
}

// byPiece does so in a Space with a separator.
func (s *Space) byPiece(parts [][]Language, most int) ([]Cell, bool) {
	tracks := make([]*track, len(parts))
	for i, of := range parts {
		if tracks[i] = s.track(of, most); !tracks[i].ok {
			return nil, false
		}
	}
	return s.cellsByPiece(tracks, most)
}

// Meets reports whether some text is in all of some languages. It reports true, too, where more than
// [MostStates] would have to be visited to know.
func (s *Space) Meets(of ...Language) bool {
	l := s.And(of...)
	if l == None {
		return false
	}
	cells, ok := s.Cells(l, MostStates)
	return !ok || len(cells) > 0
}

// machine is what is left of several languages after each text, within the first of them. The
// states are numbered from the first one, of what is left after the empty text.
type machine struct {
	ok      bool
	classes []int32    // of the letters, in each state: the number of the partition
	rows    []int32    // where the row of a state begins in next
	next    []int32    // the state after a letter of each class, -1 for none
	labels  []int32    // of each state: in which of the languages its texts are; -1 where they are not within
	in      [][]bool   // the languages of each label
	pairs   [][2]int32 // of a product: the labels of both that each label is
	steps   []step     // how each state was met the first time
}

// labelled returns how many labels there are.
func (m *machine) labelled() int {
	n := int32(-1)
	for _, l := range m.labels {
		n = max(n, l)
	}
	return int(n) + 1
}

// shortest returns the shortest text of each label.
func (m *machine) shortest() []string {
	texts := make([]string, m.labelled())
	found := make([]bool, len(texts))
	for n, label := range m.labels {
		if label >= 0 && !found[label] {
			found[label], texts[label] = true, text(m.steps, n)
		}
	}
	return texts
}

// step is how a state was met the first time.
type step struct {
	from int32 // the state before
	by   byte  // the letter
}

// state adds a state of some classes, of which there are n.
func (m *machine) state(classes int32, n int, label int32, by step) {
	m.classes, m.rows = append(m.classes, classes), append(m.rows, int32(len(m.next)))
	for range n {
		m.next = append(m.next, -1)
	}
	m.labels, m.steps = append(m.labels, label), append(m.steps, by)
}

// reset makes an empty one for the next machine.
func (m *machine) reset() {
	*m = machine{classes: m.classes[:0], rows: m.rows[:0], next: m.next[:0], labels: m.labels[:0], steps: m.steps[:0]}
}

// compact returns a machine of which all states were visited.
func (m *machine) compact() machine {
	return machine{ok: true, classes: slices.Clone(m.classes), rows: slices.Clone(m.rows),
		next: slices.Clone(m.next), labels: slices.Clone(m.labels), in: m.in, pairs: m.pairs,
		steps: slices.Clone(m.steps)}
}

// size returns how many bytes a machine takes.
func (m *machine) size() int {
	const ofState = 20
	return ofState*len(m.steps) + ofNumber*len(m.next)
}

// cells returns those that the states of one machine meet.
func (m *machine) cells() (list []Cell) {
	found := make([]bool, len(m.in))
	for n, label := range m.labels {
		if label >= 0 && !found[label] {
			found[label] = true
			list = append(list, Cell{text(m.steps, n), m.in[label]})
		}
	}
	return list
}

// machine returns the one of some languages.
func (s *Space) machine(of []Language) *machine {
	key := string(appendAll(nil, of))
	if m := s.machines[key]; m != nil {
		return m
	}
	m := &machine{}
	s.machines[key] = m
	s.count++
	if !s.fill(of, &inLanguages{Space: s, labels: newLabels(len(of) - 1)}, mostWork) {
		return m
	}
	*m = s.draft.compact()
	s.size += m.size()
	return m
}

// labeller says what tells the states of the machine apart that a Space drafts.
type labeller interface {
	classes() int32      // letters that are told apart in any state
	without(c byte) bool // a letter is not taken
	dead(left row) bool  // texts after which this is left are not looked at
	label(state row) int32
	work(state row) int // how much there was until a state is left
}

// fill visits the states of a machine of some languages, and writes the machine down. It reports
// false where there are too many, or is too much work.
func (s *Space) fill(of []Language, by labeller, most int) bool {
	m, states := &s.draft, &s.states
	m.reset()
	meet := func(how step) {
		state := states.at(len(m.steps))
		classes := by.classes()
		for _, l := range state.of {
			classes = s.meet(classes, s.classesOf(l))
		}
		m.state(classes, int(s.all[classes].n), by.label(state), how)
	}
	states.begin(of)
	meet(step{from: -1})
	var left row
	for at := 0; at < states.used; at++ {
		state := states.at(at)
		if states.used > MostStates || by.work(state) > most {
			return false
		}
		classes := s.all[m.classes[at]]
		s.work += len(state.of) * len(classes.plain) / lookups
		for _, c := range classes.plain {
			if by.without(c) {
				continue
			}
			left.form, left.of = state.form, left.of[:0]
			for _, l := range state.of {
				left.of = append(left.of, s.after(l, c))
			}
			left = states.each(left)
			if by.dead(left) {
				continue
			}
			n, known := states.number(left)
			if !known {
				meet(step{int32(at), c})
			}
			m.next[m.rows[at]+int32(classes.of[c])] = int32(n)
		}
	}
	return true
}

// inLanguages tells apart in which languages a text is, of those but the first, within that one.
type inLanguages struct {
	*Space
	labels *labels
	taken  int
}

func (*inLanguages) classes() int32 { return whole }

func (*inLanguages) without(byte) bool { return false }

func (*inLanguages) dead(left row) bool { return left.of[0] == None }

func (s *inLanguages) work(state row) int {
	for _, l := range state.of {
		s.taken += s.toDerive(l)
	}
	return s.taken
}

func (s *inLanguages) label(state row) int32 {
	if !s.hasEmpty(state.of[0]) {
		return -1
	}
	for i, at := range s.states.forms[state.form][1:] {
		s.labels.in[i] = s.hasEmpty(state.of[at])
	}
	return s.labels.number(&s.draft.in)
}

// labels gives combinations of languages each the next number when they are met for the first time.
type labels struct {
	in      []bool // the combination that is asked for
	key     []byte // of it, one bit for each language
	last    []byte // the one before
	is      int32
	numbers map[string]int32
}

func newLabels(width int) *labels {
	return &labels{in: make([]bool, width), key: make([]byte, (width+7)/8), is: -1, numbers: map[string]int32{}}
}

// number returns the number of the combination that is asked for, and adds one that is new to a list. Those that are
// asked for one behind the other are mostly the same.
func (l *labels) number(list *[][]bool) int32 {
	clear(l.key)
	for i, in := range l.in {
		if in {
			l.key[i/8] |= 1 << (i % 8)
		}
	}
	if l.is >= 0 && bytes.Equal(l.key, l.last) {
		return l.is
	}
	n, ok := l.numbers[string(l.key)]
	if !ok {
		n = int32(len(*list))
		l.numbers[string(l.key)] = n
		*list = append(*list, slices.Clone(l.in))
	}
	l.last, l.is = append(l.last[:0], l.key...), n
	return n
}

// product returns the machine of two, which have the same first language.
func (s *Space) product(a, b *machine) *machine {
	key := [2]*machine{a, b}
	if m := s.products[key]; m != nil {
		return m
	}
	m := s.multiply(a, b)
	s.products[key] = &m
	s.size += m.size()
	return &m
}

// multiply makes it.
func (s *Space) multiply(a, b *machine) (m machine) {
	if a.ok && b.ok {
		w := walk{Space: s, a: a, b: b}
		if s.draft.reset(); w.run(&s.draft, MostStates) {
			m = s.draft.compact()
		}
	}
	return m
}

// walk visits the states of two machines at once, shortest texts first.
type walk struct {
	*Space
	a, b  *machine
	found map[[2]int32]int32 // the combinations of labels
	cells []Cell
}

// buffers are what a walk needs while it lasts, for the next one.
type buffers struct {
	states rows
	joint  numberedPairs
	steps  []step
	draft  machine
}

// run visits all states, and makes them those of a machine where there is one. It reports false where
// there are too many.
func (w *walk) run(into *machine, most int) bool {
	w.found = map[[2]int32]int32{}
	w.joint.reset()
	w.steps = w.steps[:0]
	w.visit(into, 0, 0, step{from: -1})
	for at := 0; at < len(w.steps); at++ {
		if len(w.steps) > most {
			return false
		}
		a, b := w.joint.at(at)
		classes := w.all[w.meet(w.a.classes[a], w.b.classes[b])]
		ofA, ofB := &w.all[w.a.classes[a]].of, &w.all[w.b.classes[b]].of
		nextA, nextB := w.a.next[w.a.rows[a]:], w.b.next[w.b.rows[b]:]
		for _, c := range classes.plain {
			x, y := nextA[ofA[c]], nextB[ofB[c]]
			if x < 0 || y < 0 {
				continue
			}
			n := w.visit(into, x, y, step{int32(at), c})
			if into != nil {
				into.next[into.rows[at]+int32(classes.of[c])] = n
			}
		}
	}
	return true
}

// visit returns the number of a state. One that was not seen before it notes, and its cell where that
// is another one.
func (w *walk) visit(into *machine, a, b int32, by step) int32 {
	number, known := w.joint.number(a, b)
	if known {
		return int32(number)
	}
	w.steps = append(w.steps, by)
	label := int32(-1)
	if la, lb := w.a.labels[a], w.b.labels[b]; la >= 0 && lb >= 0 {
		known, ok := w.found[[2]int32{la, lb}]
		if !ok {
			known = int32(len(w.found))
			w.found[[2]int32{la, lb}] = known
			if w.a.in != nil {
				w.cells = append(w.cells, Cell{text(w.steps, number), slices.Concat(w.a.in[la], w.b.in[lb])})
			}
			if into != nil {
				into.pairs = append(into.pairs, [2]int32{la, lb})
				if w.a.in != nil {
					into.in = append(into.in, w.cells[known].In)
				}
			}
		}
		label = known
	}
	if into != nil {
		classes := w.meet(w.a.classes[a], w.b.classes[b])
		into.state(classes, int(w.all[classes].n), label, by)
	}
	return int32(number)
}

// text returns the letters that lead to a step.
func text(steps []step, at int) string {
	var letters []rune
	for ; at > 0; at = int(steps[at].from) {
		r := rune(steps[at].by)
		if r == 0 {
			r = Other
		}
		letters = append(letters, r)
	}
	slices.Reverse(letters)
	return string(letters)
}

// numbered gives states of some languages each the next number when they are met for the first time.
type numbered struct {
	width int
	all   []Language
	table
}

// reset forgets all states.
func (s *numbered) reset(width int) {
	s.width, s.all = width, s.all[:0]
	s.table.reset()
}

func (s *numbered) at(n int) []Language { return s.all[n*s.width : (n+1)*s.width] }

// number returns the number of a state, and whether it was known.
func (s *numbered) number(state []Language) (n int, known bool) {
	hash := firstHash
	for _, l := range state {
		hash = hashed(hash, uint32(l))
	}
	n, known = s.table.number(folded(hash), func(n int) bool { return slices.Equal(s.at(n), state) })
	if !known {
		s.all = append(s.all, state...)
	}
	return n, known
}

// numberedPairs does the same for pairs of numbers.
type numberedPairs struct {
	all []uint64
	table
}

// reset forgets all pairs.
func (s *numberedPairs) reset() {
	s.all = s.all[:0]
	s.table.reset()
}

// size returns how many bytes they take.
func (s *numberedPairs) size() int { return 8*len(s.all) + ofSlot*len(s.slots) }

func (s *numberedPairs) at(n int) (a, b int32) { return int32(s.all[n] >> 32), int32(s.all[n]) }

func (s *numberedPairs) number(a, b int32) (n int, known bool) {
	key := uint64(a)<<32 | uint64(uint32(b))
	hash := key * 0x9e3779b97f4a7c15 // Knuth's multiplicative method
	n, known = s.table.number(uint32(hash>>32), func(n int) bool { return s.all[n] == key })
	if !known {
		s.all = append(s.all, key)
	}
	return n, known
}

// table finds numbers by hashes.
type table struct {
	slots []slot // a power of two with room to spare
	used  int
}

// How many bytes a slot takes, a number, and a cell without its texts.
const (
	ofSlot   = 8
	ofNumber = 4
	ofCell   = 40
)

type slot struct {
	hash   uint32
	number int32 // 1 for the first
}

// reset forgets all hashes, and room of which the last ones took little: to clear it takes time.
func (t *table) reset() {
	if len(t.slots) > mostIdle && 8*t.used < len(t.slots) {
		t.slots = nil
	}
	clear(t.slots)
	t.used = 0
}

// mostIdle is how much room is kept though the last ones took little of it.
const mostIdle = 4096

// number returns the one for which same reports true, or the next one, and whether it was known.
func (t *table) number(hash uint32, same func(int) bool) (n int, known bool) {
	if 2*(t.used+1) > len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(256, 2*len(old)))
		for _, of := range old {
			if of.number > 0 {
				*t.free(of.hash) = of
			}
		}
	}
	mask := len(t.slots) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		switch at := &t.slots[i]; {
		case at.number == 0:
			t.used++
			*at = slot{hash, int32(t.used)}
			return t.used - 1, false
		case at.hash == hash && same(int(at.number)-1):
			return int(at.number) - 1, true
		}
	}
}

// free returns a slot for a hash that is not there.
func (t *table) free(hash uint32) *slot {
	mask := len(t.slots) - 1
	i := int(hash) & mask
	for t.slots[i].number > 0 {
		i = (i + 1) & mask
	}
	return &t.slots[i]
}

// firstHash is the hash of nothing, hashed takes a number to it (FNV-1a over whole numbers), and folded
// makes it half as long.
const firstHash uint64 = 14695981039346656037

func hashed(hash uint64, n uint32) uint64 { return (hash ^ uint64(n)) * 1099511628211 }

func folded(hash uint64) uint32 { return uint32(hash ^ hash>>32) }

func appendAll(key []byte, of []Language) []byte {
	for _, l := range of {
		key = binary.LittleEndian.AppendUint32(key, uint32(l))
	}
	return key
}

// plainest are all letters, those first that people read best.
var plainest = func() []byte {
	const first = "xabcdefghijklmnopqrstuvwyz1234567890/._- XABCDEFGHIJKLMNOPQRSTUVWYZ"
	all := []byte(first)
	for c := byte(1); c < utf8.RuneSelf; c++ {
		if strings.IndexByte(first, c) < 0 {
			all = append(all, c)
		}
	}
	return append(all, 0)
}()
