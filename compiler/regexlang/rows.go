package regexlang

import (
	"encoding/binary"
	"slices"
)

// row is what is left of several languages: each that is left once, in the order of the first place that it has, and
// how they stand, which has a number. What is left at many places is mostly the same at most of them.
type row struct {
	form int32
	of   []Language
}

// rows gives rows each the next number when they are met for the first time.
type rows struct {
	forms   [][]uint16       // of each form: which of a row's languages stands at each place
	numbers map[string]int32 // of the forms, and of what becomes of one where some of its languages are the same
	all     []Language
	starts  []int32 // where each row begins
	ofForm  []int32 // the form of each row
	table

	key   []byte
	to    []uint16
	met   []met // of each language
	round uint32
}

// met is at which place of a row a language stands, of the row of a round.
type met struct {
	round uint32
	at    uint16
}

// begin forgets all rows, and makes the first one.
func (s *rows) begin(of []Language) {
	if cap(s.all) > mostIdle && 8*len(s.all) < cap(s.all) {
		s.all, s.starts, s.ofForm = nil, nil, nil
	}
	s.forms, s.numbers = s.forms[:0], map[string]int32{}
	s.all, s.starts, s.ofForm = s.all[:0], s.starts[:0], s.ofForm[:0]
	s.table.reset()
	apart := make([]uint16, len(of))
	for i := range apart {
		apart[i] = uint16(i)
	}
	s.number(s.each(row{s.formed(apart), slices.Clone(of)}))
}

func (s *rows) at(n int) row {
	end := len(s.all)
	if n+1 < len(s.starts) {
		end = int(s.starts[n+1])
	}
	return row{s.ofForm[n], s.all[s.starts[n]:end:end]}
}

// each returns a row in which each language is once, in the place of one in which some may be more often. It writes
// over that.
func (s *rows) each(r row) row {
	s.round++
	s.to = s.to[:0]
	kept := r.of[:0]
	for _, l := range r.of {
		if int(l) >= len(s.met) {
			s.met = append(s.met, make([]met, int(l)+1)...)
		}
		if m := &s.met[l]; m.round != s.round {
			*m = met{s.round, uint16(len(kept))}
			kept = append(kept, l)
		}
		s.to = append(s.to, s.met[l].at)
	}
	if len(kept) == len(r.of) {
		return r
	}
	return row{s.joined(r.form), kept}
}

// joined returns the form that another one becomes where its languages are those of to.
func (s *rows) joined(form int32) int32 {
	s.key = binary.LittleEndian.AppendUint32(append(s.key[:0], 'j'), uint32(form))
	for _, at := range s.to {
		s.key = binary.LittleEndian.AppendUint16(s.key, at)
	}
	if n, ok := s.numbers[string(s.key)]; ok {
		return n
	}
	key := string(s.key)
	out := make([]uint16, len(s.forms[form]))
	for i, at := range s.forms[form] {
		out[i] = s.to[at]
	}
	n := s.formed(out)
	s.numbers[key] = n
	return n
}

// formed returns the number of a form.
func (s *rows) formed(of []uint16) int32 {
	s.key = append(s.key[:0], 'f')
	for _, at := range of {
		s.key = binary.LittleEndian.AppendUint16(s.key, at)
	}
	n, ok := s.numbers[string(s.key)]
	if !ok {
		n = int32(len(s.forms))
		s.numbers[string(s.key)] = n
		s.forms = append(s.forms, of)
	}
	return n
}

// number returns the number of a row, and whether it was known.
func (s *rows) number(r row) (n int, known bool) {
	hash := hashed(firstHash, uint32(r.form))
	for _, l := range r.of {
		hash = hashed(hash, uint32(l))
	}
	n, known = s.table.number(folded(hash), func(n int) bool {
		one := s.at(n)
		return one.form == r.form && slices.Equal(one.of, r.of)
	})
	if !known {
		s.starts, s.ofForm = append(s.starts, int32(len(s.all))), append(s.ofForm, r.form)
		s.all = append(s.all, r.of...)
	}
	return n, known
}
