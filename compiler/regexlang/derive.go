package regexlang

import (
	"encoding/binary"
	"unicode/utf8"
)

// partition cuts the letters into classes: after letters of one class the same is left of a
// language. Of two equal ones there is one in a Space.
type partition struct {
	of    classes
	n     int32  // how many classes there are
	plain []byte // the plainest letter of each class that the alphabet has, plainest first
}

// classes is the class of each letter, numbered by their first letters.
type classes [utf8.RuneSelf]uint8

// partitions are those of a Space. There may be many, so they are kept side by side.
type partitions struct {
	alphabet Set
	numbers  table
	all      []*partition
	room     []partition   // for the next ones
	letters  []byte        // room for their plainest letters
	pairs    numberedPairs // those that were met, by their numbers
	met      []int32       // what each of the pairs has in common
	both     [utf8.RuneSelf * utf8.RuneSelf]uint8
}

// whole is the number of the partition of one class.
const whole = 0

// How many partitions, and how many of their letters, there is room for at once.
const (
	roomForPartitions = 64
	roomForLetters    = 4096
)

func newPartitions(alphabet Set) *partitions {
	p := &partitions{alphabet: alphabet}
	p.intern(&classes{}, 1)
	return p
}

func (p *partitions) intern(of *classes, n int) int32 {
	hash := firstHash
	for i := 0; i < len(of); i += 8 {
		word := binary.LittleEndian.Uint64(of[i:])
		hash = hashed(hashed(hash, uint32(word)), uint32(word>>32))
	}
	number, known := p.numbers.number(folded(hash), func(n int) bool { return p.all[n].of == *of })
	if known {
		return int32(number)
	}
	if len(p.room) == 0 {
		p.room = make([]partition, roomForPartitions)
	}
	if cap(p.letters)-len(p.letters) < n {
		p.letters = make([]byte, 0, roomForLetters)
	}
	out := &p.room[0]
	p.room = p.room[1:]
	begin := len(p.letters)
	var has [utf8.RuneSelf]bool
	for _, c := range plainest {
		if class := of[c]; !has[class] && p.alphabet.has(c) {
			has[class] = true
			p.letters = append(p.letters, c)
		}
	}
	*out = partition{of: *of, n: int32(n), plain: p.letters[begin:len(p.letters):len(p.letters)]}
	p.all = append(p.all, out)
	return int32(number)
}

// size returns how many bytes they take.
func (p *partitions) size() int {
	const ofPartition, ofLetters = 128 + 32 + 8, 16
	return (ofPartition+ofLetters)*len(p.all) + ofSlot*len(p.numbers.slots) + p.pairs.size() + ofNumber*len(p.met)
}

// bySet returns the partition of a set and its complement.
func (p *partitions) bySet(set Set) int32 {
	var of classes
	first := set.has(0)
	n := 1
	for c := range of {
		if set.has(byte(c)) != first {
			of[c], n = 1, 2
		}
	}
	return p.intern(&of, n)
}

// meet returns the coarsest partition that is finer than both.
func (p *partitions) meet(a, b int32) int32 {
	switch {
	case a == b, b == whole:
		return a
	case a == whole:
		return b
	case a > b:
		a, b = b, a
	}
	n, known := p.pairs.number(a, b)
	if known {
		return p.met[n]
	}
	var of classes
	x, y := &p.all[a].of, &p.all[b].of
	classes := 0
	for c := range of {
		class := &p.both[int(x[c])<<7|int(y[c])] // 0 where it is new
		if *class == 0 {
			classes++
			*class = uint8(classes)
		}
		of[c] = *class - 1
	}
	for c := range of {
		p.both[int(x[c])<<7|int(y[c])] = 0
	}
	out := p.intern(&of, classes)
	p.met = append(p.met, out)
	return out
}

// classesOf returns the classes of the letters for a language.
func (s *Space) classesOf(l Language) int32 {
	n := s.nodes[l]
	if n.classes >= 0 {
		return n.classes
	}
	p := int32(whole)
	switch n.operation {
	case chars:
		p = s.bySet(s.setOf(l))
	case star, not, before:
		p = s.classesOf(n.a)
	case skipping:
		p = s.meet(s.classesOf(n.a), s.bySet(blank))
	case cat:
		if p = s.classesOf(n.a); s.nodes[n.a].nullable {
			p = s.meet(p, s.classesOf(n.b))
		}
	case or, and:
		for _, o := range s.operandsOf(l) {
			p = s.meet(p, s.classesOf(o))
		}
	}
	s.nodes[l].classes, s.nodes[l].left = p, int32(len(s.left))
	for range s.all[p].n {
		s.left = append(s.left, -1)
	}
	return p
}

// after returns what is left of a language after a letter.
func (s *Space) after(l Language, c byte) Language {
	if l == None || l == All {
		return l
	}
	classes := s.classesOf(l)
	at := s.nodes[l].left + int32(s.all[classes].of[c])
	if next := s.left[at]; next >= 0 {
		return next
	}
	next := s.derive(l, c)
	s.left[at] = next
	return next
}

// toDerive returns how many operands it takes to what is left of a language after each letter, also where that is known
// already: so it does not depend on what a Space was asked before. What the same count has counted takes nothing.
func (s *Space) toDerive(l Language) int {
	if len(s.counted) < len(s.nodes) {
		s.counted = append(s.counted, make([]uint32, len(s.nodes)-len(s.counted))...)
	}
	if s.counted[l] == s.count {
		return 0
	}
	s.counted[l] = s.count
	n := s.nodes[l]
	classes := int(s.all[s.classesOf(l)].n)
	switch n.operation {
	case cat:
		if s.nodes[n.a].nullable {
			return 3*classes + s.toDerive(n.a) + s.toDerive(n.b)
		}
		return classes + s.toDerive(n.a)
	case star, not, skipping, before:
		return classes + s.toDerive(n.a)
	case or, and:
		work := classes * (1 + 2*int(n.b))
		for _, o := range s.operandsOf(l) {
			work += s.toDerive(o)
		}
		return work
	}
	return classes
}

func (s *Space) derive(l Language, c byte) Language {
	n := s.nodes[l] // a copy: new languages may move the others
	s.work++
	switch n.operation {
	case chars:
		if s.setOf(l).has(c) {
			return Empty
		}
	case cat:
		d := s.cat(s.after(n.a, c), n.b)
		if s.nodes[n.a].nullable {
			d = s.Or(d, s.after(n.b, c))
		}
		return d
	case star:
		return s.cat(s.after(n.a, c), l)
	case skipping:
		if c == ' ' {
			return s.cat(s.Optional(s.Cat(All, s.Text(" "))), s.after(n.a, c))
		}
		return s.Skipping(s.after(n.a, c))
	case not:
		return s.Not(s.after(n.a, c))
	case before:
		return s.before(s.after(n.a, c), n.b)
	case or, and:
		s.work += int(n.b)
		begin := len(s.operands)
		for _, o := range s.operandsOf(l) {
			left := s.after(o, c)
			s.operands = append(s.operands, left)
		}
		left := s.operands[begin:]
		var d Language
		if n.operation == or {
			d = s.Or(left...)
		} else {
			d = s.And(left...)
		}
		s.operands = s.operands[:begin]
		return d
	}
	return None
}
