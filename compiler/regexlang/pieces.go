package regexlang

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

// A path is many names in a row. Letter by letter paths go through as many states as there are letters in all names
// that patterns have, times what may be left of each language where a name begins. So they are walked name by name:
// which names do the same is found out once by letters, for all places at which one may begin.

// mostSteps bounds how often [Space.Cells] takes a piece to a state, and mostPlaces what may be left of a language
// where a piece begins.
const (
	mostSteps  = 2_000_000
	mostPlaces = 1000
)

// pieces is what is left of a language after pieces of a text, each with the separator behind it.
type pieces struct {
	places
	letters *machine // of one piece; a label is a kind of piece, which does the same wherever it stands
	most    int      // the most states for which it was cut
	work    int      // how much it took
}

// piecesOf cuts a language at the separator. Of within, pieces that it does not have are left out. What takes more work
// than there is for most states is not cut, whether or not it was for more.
func (s *Space) piecesOf(name cutName, most int) *pieces {
	p := s.cut[name]
	if p == nil || !p.letters.ok && p.most < most {
		p = s.newPieces(name, most)
		p.most = most
		s.cut[name] = p
		s.size += p.letters.size() + 5*len(p.next)
	}
	if p.work > workFor(most) {
		return &pieces{letters: &machine{}}
	}
	return p
}

// newPieces does so where the language was not cut for as many states.
func (s *Space) newPieces(name cutName, most int) *pieces {
	l, within := name.Language, name.within
	if !within && s.combined(l) {
		return s.combine(l, most)
	}
	if s.scratch == nil {
		s.scratch = newSpace(s.partitions).CutAt(byte(s.separator))
	}
	s.scratch.forget()
	return s.scratch.cutUp(s.scratch.take(s, l, map[Language]Language{}), within, most)
}

// cutUp does so with the one language that a Space has: of what is left within pieces nothing is needed afterwards.
func (s *Space) cutUp(l Language, within bool, most int) *pieces {
	states := []Language{l}
	at := map[Language]int32{l: 0, None: -1}
	p := &pieces{letters: &machine{}}
	cut := s.bySet(letterSet(rune(s.separator)))
	begun := s.work
	var letters []*machine
	var of []*kindsOf
	for from := 0; from < len(states); {
		kinds := &kindsOf{Space: s, numbers: map[string]int32{}, cut: cut, within: within, width: len(states) - from}
		if len(states) > mostPlaces || !s.fill(states[from:], kinds, begun+workFor(most)) {
			return p
		}
		from = len(states)
		for _, l := range kinds.left {
			if _, ok := at[l]; !ok {
				at[l] = int32(len(states))
				states = append(states, l)
			}
		}
		m := s.draft.compact()
		letters, of = append(letters, &m), append(of, kinds)
		if within && len(states) > from { // what one of them does not have another may
			from, letters, of = 0, nil, nil
		}
	}
	joint, kinds := s.together(letters)
	if joint == nil || s.work-begun > workFor(most) {
		return p
	}
	t := places{kinds: len(kinds) / len(of)}
	for i, k := range of {
		for place := range k.width {
			for n := i; n < len(kinds); n += len(of) {
				x := int(kinds[n])*k.width + place
				t.add(at[k.left[x]], k.ends[x])
			}
		}
	}
	return t.least(joint, s.work-begun)
}

// workFor returns how much work a language may take for most states: at least what most single subjects take.
func workFor(most int) int { return max(mostWork/4, mostWork/MostStates*most) }

// cutName names a language that is cut into pieces.
type cutName struct {
	Language
	within bool
}

// kindsOf tells the pieces of a language apart.
type kindsOf struct {
	*Space
	numbers map[string]int32
	cut     int32 // the number of the partition in the separator and all other letters
	width   int
	within  bool       // pieces after which nothing is left are none
	left    []Language // of each kind, for each state, behind the separator
	ends    []bool
	key     []byte
	behind  []Language
}

func (k *kindsOf) classes() int32 { return k.cut }

func (k *kindsOf) without(c byte) bool { return int(c) == k.separator }

func (k *kindsOf) work(row) int { return k.Space.work }

func (k *kindsOf) dead(left row) bool { return k.within && len(left.of) == 1 && left.of[0] == None }

func (k *kindsOf) label(state row) int32 {
	// Behind the separator, and whether the text may end.
	behind := row{state.form, k.behind[:0]}
	for _, l := range state.of {
		after := k.after(l, byte(k.separator)) << 1
		if k.hasEmpty(l) {
			after |= 1
		}
		behind.of = append(behind.of, after)
	}
	k.behind = behind.of
	behind = k.states.each(behind)
	if k.within && len(behind.of) == 1 && behind.of[0] == None<<1 {
		return -1
	}
	k.key = appendAll(binary.LittleEndian.AppendUint32(k.key[:0], uint32(behind.form)), behind.of)
	n, ok := k.numbers[string(k.key)]
	if !ok {
		n = int32(len(k.numbers))
		k.numbers[string(k.key)] = n
		for _, at := range k.states.forms[behind.form] {
			x := behind.of[at]
			k.left, k.ends = append(k.left, x>>1), append(k.ends, x&1 == 1)
		}
	}
	return n
}

// track is what is left of several languages after pieces, within the first of them.
type track struct {
	ok      bool
	most    int      // where it is not: how many states were looked at
	work    int      // the most that a language took
	letters *machine // of a piece; a label is a kind of piece
	kinds   int
	states  int
	next    []int32 // of each state: the state behind the separator for each kind; -1 where it is not within
	ends    []int32 // likewise the label where the text ends; -1 where it is not within
	in      [][]bool
}

// track returns the one of some languages, of most states.
func (s *Space) track(of []Language, most int) *track {
	key := string(appendAll(nil, of))
	if t := s.tracks[key]; t != nil && (t.ok || t.most >= most) {
		if t.states > most || t.work > workFor(most) {
			return &track{}
		}
		return t
	}
	t := s.newTrack(of, most)
	s.tracks[key] = t
	s.size += 4 * (len(t.next) + len(t.ends))
	return t
}

// newTrack makes it. What took too much is not kept.
func (s *Space) newTrack(of []Language, most int) *track {
	tooMuch := &track{most: most}
	all := make([]*pieces, len(of))
	letters := make([]*machine, len(of))
	for i, l := range of {
		all[i] = s.piecesOf(cutName{l, i == 0}, most)
		letters[i] = all[i].letters
		tooMuch.work = max(tooMuch.work, all[i].work)
	}
	joint, kinds := s.together(letters)
	if joint == nil {
		return tooMuch
	}
	t := &track{work: tooMuch.work, letters: joint, kinds: len(kinds) / len(of)}
	states := numbered{}
	states.reset(len(of))
	state, left := make([]Language, len(of)), make([]Language, len(of))
	states.number(state)
	labels := newLabels(len(of) - 1)
	for at := 0; at < states.used; at++ {
		if states.used > most || at*t.kinds > mostSteps {
			return tooMuch
		}
		copy(state, states.at(at))
		if cap(t.next)-len(t.next) < t.kinds { // twice the room: there are many
			t.next, t.ends = slices.Grow(t.next, len(t.next)+t.kinds), slices.Grow(t.ends, len(t.ends)+t.kinds)
		}
		for k := 0; k < len(kinds); k += len(of) {
			kind := kinds[k : k+len(of)]
			next, ends := int32(-1), int32(-1)
			if left[0] = all[0].after(state[0], kind[0]); left[0] >= 0 {
				for i, p := range all[1:] {
					left[i+1] = p.after(state[i+1], kind[i+1])
				}
				n, _ := states.number(left)
				next = int32(n)
			}
			if all[0].endsAfter(state[0], kind[0]) {
				ends = t.label(labels, all, state, kind)
			}
			t.next, t.ends = append(t.next, next), append(t.ends, ends)
		}
	}
	t.ok, t.states, t.next, t.ends = true, states.used, slices.Clone(t.next), slices.Clone(t.ends)
	return t
}

// label returns the number of those of some languages, but the first, whose texts may end after a piece.
func (t *track) label(labels *labels, of []*pieces, state []Language, kind []int32) int32 {
	for i, p := range of[1:] {
		labels.in[i] = p.endsAfter(state[i+1], kind[i+1])
	}
	return labels.number(&t.in)
}

// together returns the machine of several, and of each of its labels those of these. It returns nil where there are too
// many states.
func (s *Space) together(of []*machine) (*machine, []int32) {
	m := of[0]
	chain := []*machine{m}
	for _, next := range of[1:] {
		m = s.product(m, next)
		chain = append(chain, m)
	}
	if !m.ok {
		return nil, nil
	}
	n := m.labelled()
	kinds := make([]int32, n*len(of))
	for k := range n {
		label := int32(k)
		for i := len(of) - 1; i > 0; i-- {
			pair := chain[i].pairs[label]
			kinds[k*len(of)+i], label = pair[1], pair[0]
		}
		kinds[k*len(of)] = label
	}
	return m, kinds
}

// arrival is how a state, or a cell, is reached by the shortest text that is known.
type arrival struct {
	from    int32 // the state before the last piece
	kind    int32 // of that piece
	length  int
	settled bool // there is no shorter one
}

// ride visits the states of several tracks at once, shortest texts first.
type ride struct {
	tracks        []*track
	texts         []string // the shortest piece of each kind
	letters       []int    // how many letters these have
	kinds         []int32  // of each kind: those of the tracks
	states, cells combinations
	toState       []arrival
	toCell        []arrival
	pending       [][]int32 // the states that are reached by texts of each length
}

// cellsByPiece returns the cells of several tracks, those of short texts first.
func (s *Space) cellsByPiece(tracks []*track, most int) ([]Cell, bool) {
	machines := make([]*machine, len(tracks))
	for i, t := range tracks {
		machines[i] = t.letters
	}
	joint, kinds := s.together(machines)
	if joint == nil {
		return nil, false
	}
	r := ride{tracks: tracks, kinds: kinds, texts: joint.shortest(), toState: []arrival{{}}, pending: [][]int32{{0}}}
	for _, text := range r.texts {
		r.letters = append(r.letters, utf8.RuneCountInString(text))
	}
	for _, t := range tracks {
		r.states.sizes, r.cells.sizes = append(r.states.sizes, t.states), append(r.cells.sizes, len(t.in))
	}
	r.states.begin()
	r.cells.begin()
	r.states.number(make([]Language, len(tracks)))
	if !r.run(most) {
		return nil, false
	}
	return r.found(string(rune(s.separator))), true
}

// run visits all states. It reports false where there are more than most.
func (r *ride) run(most int) bool {
	settled := 0
	for length := 0; length < len(r.pending); length++ {
		for i := 0; i < len(r.pending[length]); i++ {
			n := r.pending[length][i]
			at := &r.toState[n]
			if at.settled || at.length != length {
				continue
			}
			at.settled = true
			if settled++; settled > most || settled*len(r.texts) > mostSteps {
				return false
			}
			r.leave(n, length)
		}
	}
	return true
}

// leave takes each kind of piece to a state, which a text of a length reaches.
func (r *ride) leave(n int32, length int) {
	state := slices.Clone(r.states.at(int(n)))
	next, label := make([]Language, len(state)), make([]Language, len(state))
	for k := range r.texts {
		goesOn, ends := true, true
		for i, t := range r.tracks {
			to := int(state[i])*t.kinds + int(r.kinds[k*len(state)+i])
			next[i], label[i] = Language(t.next[to]), Language(t.ends[to])
			goesOn, ends = goesOn && next[i] >= 0, ends && label[i] >= 0
		}
		by := arrival{from: n, kind: int32(k), length: length + r.letters[k]}
		if ends {
			reach(&r.cells, &r.toCell, label, by)
		}
		by.length++ // the separator
		if !goesOn {
			continue
		}
		if to, shorter := reach(&r.states, &r.toState, next, by); shorter {
			for len(r.pending) <= by.length {
				r.pending = append(r.pending, nil)
			}
			r.pending[by.length] = append(r.pending[by.length], to)
		}
	}
}

// reach notes how one of some is reached, and reports whether no shorter text is known that does.
func reach(of *combinations, to *[]arrival, one []Language, by arrival) (number int32, shorter bool) {
	n, known := of.number(one)
	if !known {
		*to = append(*to, by)
		return int32(n), true
	}
	if old := &(*to)[n]; !old.settled && by.length < old.length {
		*old = by
		return int32(n), true
	}
	return int32(n), false
}

// combinations are numbered ones of which each number is below a size: so they are found by their place in a list where
// there are few.
type combinations struct {
	sizes  []int
	places []int32 // 1 for the first
	numbered
}

// mostPlaced is how many combinations have a place.
const mostPlaced = 1 << 16

func (c *combinations) begin() {
	c.reset(len(c.sizes))
	all := 1
	for _, n := range c.sizes {
		if all *= n; all > mostPlaced {
			return
		}
	}
	c.places = make([]int32, all)
}

func (c *combinations) number(one []Language) (n int, known bool) {
	if c.places == nil {
		return c.numbered.number(one)
	}
	at := 0
	for i, size := range c.sizes {
		at = at*size + int(one[i])
	}
	if n := c.places[at]; n > 0 {
		return int(n) - 1, true
	}
	c.all = append(c.all, one...)
	c.used++
	c.places[at] = int32(c.used)
	return c.used - 1, false
}

// found returns the cells, with their texts.
func (r *ride) found(separator string) []Cell {
	list := make([]Cell, len(r.toCell))
	for n, x := range r.toCell {
		parts := []string{r.texts[x.kind]}
		for x.from > 0 {
			x = r.toState[x.from]
			parts = append(parts, r.texts[x.kind])
		}
		slices.Reverse(parts)
		list[n].Text = strings.Join(parts, separator)
		for i, t := range r.tracks {
			list[n].In = append(list[n].In, t.in[r.cells.at(n)[i]]...)
		}
	}
	slices.SortStableFunc(list, func(a, b Cell) int {
		return utf8.RuneCountInString(a.Text) - utf8.RuneCountInString(b.Text)
	})
	return list
}
