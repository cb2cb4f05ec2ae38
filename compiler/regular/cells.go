package regular

import (
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
	key := binary.LittleEndian.AppendUint32(nil, uint32(most))
	var machines []*machine
	for _, of := range parts {
		if len(of) == 0 {
			continue
		}
		m := s.machine(append([]Language{within}, of...))
		if !m.ok {
			return nil, false
		}
		key = append(appendAll(key, of), "|"...)
		machines = append(machines, m)
	}
	if len(machines) == 0 {
		machines = append(machines, s.machine([]Language{within}))
	}
	name := string(appendAll(key, []Language{within}))
	if c := s.cells[name]; c != nil {
		return c.list, c.ok
	}
	c := &cells{}
	s.cells[name] = c
	first, last := machines[0], machines[len(machines)-1]
	for _, m := range machines[1:max(1, len(machines)-1)] {
		first = s.product(first, m)
	}
	switch {
	case !first.ok || !last.ok:
	case len(machines) == 1:
		c.list, c.ok = first.cells(), true
	default:
		w := walk{Space: s, a: first, b: last}
		if c.ok = w.run(nil, min(most, MostStates)); c.ok {
			c.list = w.cells
		}
	}
	return c.list, c.ok
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
	classes []*partition // of the letters, in each state
	rows    []int32      // where the row of a state begins in next
	next    []int32      // the state after a letter of each class, -1 for none
	labels  []int32      // of each state: in which of the languages its texts are; -1 where they are not within
	in      [][]bool     // the languages of each label
	steps   []step       // how each state was met the first time
}

// step is how a state was met the first time.
type step struct {
	from int32 // the state before
	by   byte  // the letter
}

func (m *machine) add(classes *partition, label int32, by step) {
	m.classes, m.rows = append(m.classes, classes), append(m.rows, int32(len(m.next)))
	for range classes.n {
		m.next = append(m.next, -1)
	}
	m.labels, m.steps = append(m.labels, label), append(m.steps, by)
}

// after returns the state behind a letter, -1 for none.
func (m *machine) after(state int32, c byte) int32 {
	return m.next[m.rows[state]+int32(m.classes[state].of[c])]
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
	states := numbered{width: len(of)}
	labels := map[string]int32{}
	meet := func(by step) {
		state := states.at(len(m.steps))
		classes := s.whole
		for _, l := range state {
			classes = s.meet(classes, s.classesOf(l))
		}
		m.add(classes, s.label(m, labels, state), by)
	}
	states.number(of)
	meet(step{from: -1})
	left := make([]Language, len(of))
	before := s.work
	for at := 0; at < states.used; at++ {
		if states.used > MostStates || s.work-before > mostWork {
			*m = machine{}
			return m
		}
		for _, c := range m.classes[at].plain {
			for i, l := range states.at(at) {
				left[i] = s.after(l, c)
			}
			if left[0] == None {
				continue
			}
			n := states.number(left)
			if n == len(m.steps) {
				meet(step{int32(at), c})
			}
			m.next[m.rows[at]+int32(m.classes[at].of[c])] = int32(n)
		}
	}
	m.ok = true
	s.size += states.used
	return m
}

// label returns the number of what the languages of a state but the first have the empty text, -1
// where that one does not.
func (s *Space) label(m *machine, labels map[string]int32, state []Language) int32 {
	if !s.nodes[state[0]].nullable {
		return -1
	}
	in, key := make([]bool, len(state)-1), make([]byte, len(state)-1)
	for i, l := range state[1:] {
		if in[i] = s.nodes[l].nullable; in[i] {
			key[i] = 1
		}
	}
	n, ok := labels[string(key)]
	if !ok {
		n = int32(len(m.in))
		labels[string(key)] = n
		m.in = append(m.in, in)
	}
	return n
}

// product returns the machine of two, which have the same first language.
func (s *Space) product(a, b *machine) *machine {
	key := [2]*machine{a, b}
	if m := s.products[key]; m != nil {
		return m
	}
	m := &machine{}
	s.products[key] = m
	if a.ok && b.ok {
		w := walk{Space: s, a: a, b: b}
		if m.ok = w.run(m, MostStates); !m.ok {
			*m = machine{}
		}
		s.size += len(m.steps)
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
	states pairs
	steps  []step
}

// run visits all states, and makes them those of a machine where there is one. It reports false where
// there are too many.
func (w *walk) run(into *machine, most int) bool {
	w.found = map[[2]int32]int32{}
	w.states.reset()
	w.steps = w.steps[:0]
	w.visit(into, 0, 0, step{from: -1})
	for at := 0; at < len(w.steps); at++ {
		if len(w.steps) > most {
			return false
		}
		a, b := w.states.at(at)
		for _, c := range w.meet(w.a.classes[a], w.b.classes[b]).plain {
			x, y := w.a.after(a, c), w.b.after(b, c)
			if x < 0 || y < 0 {
				continue
			}
			n := w.visit(into, x, y, step{int32(at), c})
			if into != nil {
				into.next[into.rows[at]+int32(into.classes[at].of[c])] = n
			}
		}
	}
	return true
}

// visit returns the number of a state. One that was not seen before it notes, and its cell where that
// is another one.
func (w *walk) visit(into *machine, a, b int32, by step) int32 {
	n := w.states.number(a, b)
	if n < len(w.steps) {
		return int32(n)
	}
	w.steps = append(w.steps, by)
	label := int32(-1)
	if la, lb := w.a.labels[a], w.b.labels[b]; la >= 0 && lb >= 0 {
		known, ok := w.found[[2]int32{la, lb}]
		if !ok {
			known = int32(len(w.cells))
			w.found[[2]int32{la, lb}] = known
			w.cells = append(w.cells, Cell{text(w.steps, n), slices.Concat(w.a.in[la], w.b.in[lb])})
			if into != nil {
				into.in = append(into.in, w.cells[known].In)
			}
		}
		label = known
	}
	if into != nil {
		into.add(w.meet(w.a.classes[a], w.b.classes[b]), label, by)
	}
	return int32(n)
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

func (s *numbered) at(n int) []Language { return s.all[n*s.width : (n+1)*s.width] }

// number returns the number of a state.
func (s *numbered) number(state []Language) int {
	hash := uint64(14695981039346656037) // FNV-1a over whole numbers
	for _, l := range state {
		hash = (hash ^ uint64(l)) * 1099511628211
	}
	before := s.used
	n := s.table.number(uint32(hash^hash>>32), func(n int) bool { return slices.Equal(s.at(n), state) })
	if n == before {
		s.all = append(s.all, state...)
	}
	return n
}

// pairs does the same for states of two machines.
type pairs struct {
	all []uint64
	table
}

// reset forgets all states.
func (s *pairs) reset() {
	s.all, s.used = s.all[:0], 0
	clear(s.slots)
}

func (s *pairs) at(n int) (a, b int32) { return int32(s.all[n] >> 32), int32(s.all[n]) }

func (s *pairs) number(a, b int32) int {
	key := uint64(a)<<32 | uint64(b)
	hash := key * 0x9e3779b97f4a7c15 // Knuth's multiplicative method
	before := s.used
	n := s.table.number(uint32(hash>>32), func(n int) bool { return s.all[n] == key })
	if n == before {
		s.all = append(s.all, key)
	}
	return n
}

// table finds numbers by hashes.
type table struct {
	slots []slot // a power of two with room to spare
	used  int
}

type slot struct {
	hash   uint32
	number int32 // 1 for the first
}

// number returns the one for which same reports true, or the next one.
func (t *table) number(hash uint32, same func(int) bool) int {
	if 2*(t.used+1) > len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(256, 4*len(old)))
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
			return t.used - 1
		case at.hash == hash && same(int(at.number)-1):
			return int(at.number) - 1
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
