package regular

import "unicode/utf8"

// partition cuts the letters into classes: after letters of one class the same is left of a
// language. Of two equal ones there is one in a Space.
type partition struct {
	of     classes
	n      int    // how many classes there are
	number int32  // of the partition in its Space
	plain  []byte // the plainest letter of each class that the alphabet has, plainest first
}

// classes is the class of each letter, numbered by their first letters.
type classes [utf8.RuneSelf]uint8

// pair is two partitions, by their numbers.
type pair [2]int32

// partitions are those of a Space.
type partitions struct {
	alphabet Set
	all      map[classes]*partition
	met      map[pair]*partition
	whole    *partition // of one class
}

func newPartitions(alphabet Set) partitions {
	p := partitions{alphabet: alphabet, all: map[classes]*partition{}, met: map[pair]*partition{}}
	p.whole = p.intern(classes{}, 1)
	return p
}

func (p *partitions) intern(of classes, n int) *partition {
	if known := p.all[of]; known != nil {
		return known
	}
	out := &partition{of: of, n: n, number: int32(len(p.all))}
	var has [utf8.RuneSelf]bool
	for _, c := range plainest {
		if class := of[c]; !has[class] && p.alphabet.has(c) {
			has[class] = true
			out.plain = append(out.plain, c)
		}
	}
	p.all[of] = out
	return out
}

// bySet returns the partition of a set and its complement.
func (p *partitions) bySet(set Set) *partition {
	var of classes
	first := set.has(0)
	n := 1
	for c := range of {
		if set.has(byte(c)) != first {
			of[c], n = 1, 2
		}
	}
	return p.intern(of, n)
}

// meet returns the coarsest partition that is finer than both.
func (p *partitions) meet(a, b *partition) *partition {
	switch {
	case a == b, b == p.whole:
		return a
	case a == p.whole:
		return b
	case a.number > b.number:
		a, b = b, a
	}
	key := pair{a.number, b.number}
	if known := p.met[key]; known != nil {
		return known
	}
	var of classes
	numbers := map[[2]uint8]uint8{}
	for c := range of {
		both := [2]uint8{a.of[c], b.of[c]}
		n, ok := numbers[both]
		if !ok {
			n = uint8(len(numbers))
			numbers[both] = n
		}
		of[c] = n
	}
	out := p.intern(of, len(numbers))
	p.met[key] = out
	return out
}

// classesOf returns the classes of the letters for a language.
func (s *Space) classesOf(l Language) *partition {
	if p := s.nodes[l].classes; p != nil {
		return p
	}
	p := s.whole
	switch n := &s.nodes[l]; n.operation {
	case chars:
		p = s.bySet(n.set)
	case star, not:
		p = s.classesOf(n.a)
	case skipping:
		p = s.meet(s.classesOf(n.a), s.bySet(blank))
	case cat:
		if p = s.classesOf(n.a); s.nodes[n.a].nullable {
			p = s.meet(p, s.classesOf(n.b))
		}
	case or, and:
		for _, o := range n.operands {
			p = s.meet(p, s.classesOf(o))
		}
	}
	n := &s.nodes[l]
	n.classes = p
	n.next = make([]Language, p.n)
	for i := range n.next {
		n.next[i] = -1
	}
	return p
}

// after returns what is left of a language after a letter.
func (s *Space) after(l Language, c byte) Language {
	if l == None || l == All {
		return l
	}
	class := s.classesOf(l).of[c]
	if next := s.nodes[l].next[class]; next >= 0 {
		return next
	}
	next := s.derive(l, c)
	s.nodes[l].next[class] = next
	return next
}

func (s *Space) derive(l Language, c byte) Language {
	n := s.nodes[l] // a copy: new languages may move the others
	s.work += 1 + len(n.operands)
	switch n.operation {
	case chars:
		if n.set.has(c) {
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
	case or, and:
		left := make([]Language, len(n.operands))
		for i, o := range n.operands {
			left[i] = s.after(o, c)
		}
		if n.operation == or {
			return s.Or(left...)
		}
		return s.And(left...)
	}
	return None
}
