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
	w := walk{Space: s, state: append([]Language{within}, of...), seen: map[string]struct{}{}, found: map[string]bool{}}
	c := &cells{ok: w.run()}
	if c.ok {
		c.list = w.cells
	}
	s.cells[key] = c
	return c.list, c.ok
}

// walk visits what is left of several languages after each text, shortest texts first.
type walk struct {
	*Space
	state []Language // of the languages, the one within which to stay first
	seen  map[string]struct{}
	found map[string]bool
	steps []step
	left  []Language // the states of all steps
	cells []Cell
}

type step struct {
	from int32 // the step before
	by   byte  // the letter
}

func (w *walk) run() bool {
	w.visit(w.state, step{from: -1})
	key := make([]byte, 0, 4*len(w.state))
	next := make([]Language, len(w.state))
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
			if next[0] == None || slices.Equal(next, w.at(at)) {
				continue
			}
			key = appendAll(key[:0], next)
			if _, seen := w.seen[string(key)]; !seen {
				w.seen[string(key)] = struct{}{}
				w.visit(next, step{int32(at), c})
			}
		}
	}
	return true
}

func (w *walk) at(n int) []Language { return w.left[n*len(w.state) : (n+1)*len(w.state)] }

func (w *walk) visit(state []Language, by step) {
	w.left = append(w.left, state...)
	w.steps = append(w.steps, by)
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
