package regular

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

// MostStates bounds how many states [Space.Cells] visits.
const MostStates = 50_000

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
// texts first. It fails where there are more states than [MostStates].
func (s *Space) Cells(within Language, of []Language) ([]Cell, bool) {
	key := string(appendAll(nil, append([]Language{within}, of...)))
	if c := s.cells[key]; c != nil {
		return c.list, c.ok
	}
	w := walk{Space: s, found: map[string]bool{}, buffers: s.buffers}
	c := &cells{ok: w.run(append([]Language{within}, of...))}
	s.buffers = w.buffers
	if c.ok {
		c.list = w.cells
	}
	s.cells[key] = c
	return c.list, c.ok
}

// walk visits what is left of several languages after each text, shortest texts first.
type walk struct {
	*Space
	width int             // how many languages there are, the one within which to stay first
	found map[string]bool // the combinations
	cells []Cell
	buffers
}

// buffers are what a walk needs while it lasts, for the next one.
type buffers struct {
	steps []step
	left  []Language // the states of all steps
	table []int32    // the steps by their states, 1 for the first; a power of two with room to spare
}

type step struct {
	from int32 // the step before
	by   byte  // the letter
}

func (w *walk) run(state []Language) bool {
	w.width = len(state)
	w.steps, w.left = w.steps[:0], w.left[:0]
	clear(w.table)
	w.visit(state, step{from: -1})
	next := make([]Language, w.width)
	for at := 0; at < len(w.steps); at++ {
		if len(w.steps) > MostStates {
			return false
		}
		classes := w.whole
		for _, l := range w.at(at) {
			classes = w.meet(classes, w.classesOf(l))
		}
		for _, c := range classes.plain {
			for i, l := range w.at(at) {
				next[i] = w.after(l, c)
			}
			if next[0] != None && !slices.Equal(next, w.at(at)) {
				w.visit(next, step{int32(at), c})
			}
		}
	}
	return true
}

// slot returns where a state stands in the table, or would.
func (w *walk) slot(state []Language) int {
	hash := uint64(14695981039346656037) // FNV-1a over whole numbers
	for _, l := range state {
		hash = (hash ^ uint64(l)) * 1099511628211
	}
	mask := len(w.table) - 1
	for i := int(hash^hash>>32) & mask; ; i = (i + 1) & mask {
		if n := w.table[i]; n == 0 || slices.Equal(w.at(int(n)-1), state) {
			return i
		}
	}
}

// grow makes room for another state.
func (w *walk) grow() {
	if 2*(len(w.steps)+1) <= len(w.table) {
		return
	}
	w.table = make([]int32, max(1024, 4*len(w.table)))
	for n := range w.steps {
		w.table[w.slot(w.at(n))] = int32(n) + 1
	}
}

func (w *walk) at(n int) []Language { return w.left[n*w.width : (n+1)*w.width] }

// visit notes a state that was not seen before, and its cell where that is another one.
func (w *walk) visit(state []Language, by step) {
	w.grow()
	slot := w.slot(state)
	if w.table[slot] != 0 {
		return
	}
	w.left = append(w.left, state...)
	w.steps = append(w.steps, by)
	w.table[slot] = int32(len(w.steps))
	if !w.nodes[state[0]].nullable {
		return
	}
	in := make([]bool, len(state)-1)
	key := make([]byte, len(in))
	for i, l := range state[1:] {
		if in[i] = w.nodes[l].nullable; in[i] {
			key[i] = 1
		}
	}
	if w.found[string(key)] {
		return
	}
	w.found[string(key)] = true
	w.cells = append(w.cells, Cell{w.text(len(w.steps) - 1), in})
}

// text returns the letters that lead to a step.
func (w *walk) text(at int) string {
	var letters []rune
	for ; at > 0; at = int(w.steps[at].from) {
		r := rune(w.steps[at].by)
		if r == 0 {
			r = Other
		}
		letters = append(letters, r)
	}
	slices.Reverse(letters)
	return string(letters)
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
