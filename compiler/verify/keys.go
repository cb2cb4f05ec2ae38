package verify

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
)

// A job's key covers all that its outcome depends on:
//   - the seed, and which artifacts are compared with which
//   - the source's rules of the subject, of both halves of a pair, and what is the same for all
//     subjects: inventory, guards, silence, the names of the modes
//   - the target's options and the exceptions that have not ended
//   - what its deciders read of the artifacts for the subject
//   - the patterns in the subject's artifacts, on every surface: they enter its universe
//   - in what the subject is the first of its kind, so that it is compared on dressings
//   - for modes, the rules of the baseline
//   - for principals, all roles
//   - for roles in modes, how many states of their languages are visited, which their number bounds
//
// Lines and columns are apart: an outcome holds where a line is added above. What is kept names
// places by their index, and the key says which of them are one.

// keys makes the keys of jobs.
type keys struct {
	req     *Request
	more    *patterns
	plan    *plan
	parts   *contract.Parts
	common  digest.Sum
	wide    *places // of the source, and of the targets' exceptions
	numbers map[diag.Pos]int32
	named   []diag.Pos // the places of the numbers
	targets map[*Target]digest.Sum
	shared  map[ir.SubjectRef]shared
	roles   func() (digest.Key, error)
	engines contract.Engines // of targets that have another view than what is verified, behind gateways
}

// identity is a job's key and the places that its outcome may name.
type identity struct {
	sum    digest.Sum
	places []*places
	ok     bool
}

// shared is what all jobs of a subject depend on.
type shared struct {
	key digest.Key
	ok  bool
}

// newKeys prepares keys for a request; nil where what all depend on has no key.
func newKeys(req *Request, plan *plan, more *patterns) *keys {
	k := &keys{
		req: req, more: more, plan: plan, parts: contract.NewParts(req.Policy.Project()), numbers: map[diag.Pos]int32{},
		targets: map[*Target]digest.Sum{}, shared: map[ir.SubjectRef]shared{}, engines: contract.Engines{},
	}
	k.roles = sync.OnceValues(k.parts.Roles)
	wide, err := k.parts.Wide()
	for i := range req.Targets {
		t := &req.Targets[i]
		in := &t.Input
		read := []any{t.Target.Name(), t.Compiled != nil, in.Options, in.Exceptions, in.Beside, in.Shared}
		own, failed := digest.Of(read, nil)
		if failed != nil || in.Policy == nil || in.Project != in.Policy.Project() {
			return nil
		}
		k.targets[t] = own.Sum
		wide.Places = append(slices.Clip(wide.Places), own.Places...)
	}
	if err != nil {
		return nil
	}
	k.wide = k.placesOf(wide.Places)
	k.common = digest.Join(wide.Sum, k.wide.pattern(), digest.Text(strconv.FormatUint(req.Seed, 10)))
	return k
}

// identity returns a job's key, once.
func (k *keys) identity(j *job) *identity {
	if j.id == nil {
		j.id = k.make(j)
	}
	return j.id
}

func (k *keys) make(j *job) *identity {
	of, deciders := k.subject(j.ref), k.deciders(j)
	id := &identity{places: append(make([]*places, 0, 4), k.wide), ok: of.ok && deciders.ok}
	sums := append(make([]digest.Sum, 0, 12), k.common, k.targets[j.target], of.key.Sum, deciders.key.Sum)
	if j.halves != nil {
		sums = append(sums, digest.Text(strconv.Itoa(k.plan.pairStates())))
	}
	for _, h := range j.halves {
		half := k.identity(h)
		id.ok = id.ok && half.ok
		id.places = append(id.places, half.places[1:]...)
		sums = append(sums, half.sum) // which covers what is the same among its own places
	}
	if len(j.halves) == 2 {
		for _, p := range j.halves[0].id.places[1:] {
			for _, q := range j.halves[1].id.places[1:] {
				sums = append(sums, p.shared(q))
			}
		}
	}
	if own := slices.Concat(of.key.Places, deciders.key.Places); len(own) > 0 {
		p := k.placesOf(own)
		sums = append(sums, p.pattern())
		for _, q := range id.places {
			sums = append(sums, p.shared(q))
		}
		id.places = append(id.places, p)
		if j.halves != nil { // no other job shares its places
			p.sorted, p.first = nil, nil
		}
	}
	id.sum = digest.Join(sums...)
	return id
}

// subject returns the key of what all jobs of a subject depend on: its rules, of a pair those of
// the halves, and what its artifacts have patterns of.
func (k *keys) subject(ref ir.SubjectRef) shared {
	if of, ok := k.shared[ref]; ok {
		return of
	}
	of := shared{ok: true}
	of.key.Sum = digest.Join(digest.Text(ref.Role), digest.Text(ref.Mode), digest.Text(k.plan.of(ref)))
	if ref.Role == "" || ref.Mode == "" {
		own, err := k.parts.Own(ref)
		of.add(own, err == nil)
		if base := k.req.Policy.Project().Baseline; ref.Mode != "" && base != "" { // what it holds back is no loss
			under, err := k.parts.Own(ir.SubjectRef{Role: base})
			of.add(under, err == nil)
		}
		more, err := digest.Of([]any{k.more.get(ref), k.more.names(ref)}, nil)
		of.add(more, err == nil)
	} else { // to read the patterns takes longer than the keys of what they are read from
		for _, d := range k.more.deciders {
			of.add(keyOf(d, ref))
		}
	}
	k.shared[ref] = of
	return of
}

func (s *shared) add(key digest.Key, ok bool) {
	s.key.Sum = digest.Join(s.key.Sum, key.Sum)
	if len(key.Places) > 0 {
		s.key.Places = append(slices.Clip(s.key.Places), key.Places...)
	}
	s.ok = s.ok && ok
}

// text adds a text to what a key is made of.
func (s *shared) text(t string) { s.key.Sum = digest.Join(s.key.Sum, digest.Text(t)) }

// deciders returns the key of what a job asks.
func (k *keys) deciders(j *job) shared {
	of := shared{ok: true}
	of.text(j.decider.Surface())
	if view := j.target.Input.Policy; view != k.req.Policy {
		sum, err := k.engines.Sum(view, j.ref)
		of.add(digest.Key{Sum: sum}, err == nil)
		if base := view.Project().Baseline; j.ref.Role == "" && base != "" {
			sum, err := k.engines.Sum(view, ir.SubjectRef{Role: base})
			of.add(digest.Key{Sum: sum}, err == nil)
		}
	}
	own := j.read()
	of.add(own.key, own.ok)
	for _, d := range []contract.Decider{j.compiled, j.alone} {
		if d == nil {
			of.key.Sum = digest.Join(of.key.Sum, digest.Sum{})
		} else {
			of.add(keyOf(d, j.ref))
		}
	}
	if personal(j.decider) {
		roles, err := k.roles()
		of.add(roles, err == nil)
	}
	if j.off != nil {
		of.text("no artifact restricts the role")
	}
	return of
}

func keyOf(d contract.Decider, ref ir.SubjectRef) (digest.Key, bool) {
	if a, ok := d.(absent); ok {
		key, ok := keyOf(a.Decider, ref)
		key.Sum = digest.Join(digest.Text("absent"), key.Sum)
		return key, ok
	}
	if of, ok := d.(contract.Keyed); ok {
		return of.Key(ref)
	}
	return digest.Key{}, false
}

// read returns the key of what the job's decider reads for the subject, once.
func (j *job) read() *shared {
	if j.key == nil {
		key, ok := keyOf(j.decider, j.ref)
		j.key = &shared{key, ok}
	}
	return j.key
}

// decidesAs reports whether another decider is known to decide alike about the subject.
func (j *job) decidesAs(d contract.Decider) bool {
	own := j.read()
	if !own.ok {
		return false
	}
	other, ok := keyOf(d, j.ref)
	return ok && own.key.Sum == other.Sum
}

// places are some places in a fixed order, by the numbers that equal places share. Roles in modes name thousands each.
type places struct {
	of      *keys
	numbers []int32
	sorted  []int32 // the numbers, each once; nil until they are asked for
	first   []int32 // where each of those first stands
	sum     digest.Sum
}

func (k *keys) placesOf(list []diag.Pos) *places {
	p := &places{of: k, numbers: make([]int32, len(list))}
	for i, at := range list {
		n, ok := k.numbers[at]
		if !ok {
			n = int32(len(k.named))
			k.numbers[at], k.named = n, append(k.named, at)
		}
		p.numbers[i] = n
	}
	p.sort()
	return p
}

func (p *places) sort() {
	index := make([]uint64, len(p.numbers)) // of each number, and where it stands
	for i, n := range p.numbers {
		index[i] = uint64(n)<<32 | uint64(i)
	}
	slices.Sort(index)
	index = slices.CompactFunc(index, func(a, b uint64) bool { return a>>32 == b>>32 })
	p.sorted, p.first = make([]int32, len(index)), make([]int32, len(index))
	for i, x := range index {
		p.sorted[i], p.first[i] = int32(x>>32), int32(uint32(x))
	}
}

// firstOf returns where a number first stands, -1 for none.
func (p *places) firstOf(n int32) int {
	if p.sorted == nil {
		p.sort()
	}
	if at, ok := slices.BinarySearch(p.sorted, n); ok {
		return int(p.first[at])
	}
	return -1
}

// pattern tells which of the places are one.
func (p *places) pattern() digest.Sum {
	if p.sum == (digest.Sum{}) {
		text := []byte("places")
		for _, n := range p.numbers {
			text = binary.AppendUvarint(text, uint64(p.firstOf(n)))
		}
		p.sum = digest.Text(string(text))
	}
	return p.sum
}

// shared tells which places two lists share.
func (p *places) shared(q *places) (sum digest.Sum) {
	var text []byte
	for i, j := 0, 0; i < len(p.sorted) && j < len(q.sorted); {
		switch cmp.Compare(p.sorted[i], q.sorted[j]) {
		case -1:
			i++
		case 1:
			j++
		default:
			text = binary.AppendUvarint(text, uint64(p.first[i]))
			text = binary.AppendUvarint(text, uint64(q.first[j]))
			i, j = i+1, j+1
		}
	}
	if text == nil {
		return sum
	}
	return digest.Text(string(text))
}

// at returns the place of an index into all of a job's places.
func (id *identity) at(i int) (diag.Pos, bool) {
	for _, p := range id.places {
		if i < len(p.numbers) {
			return p.of.named[p.numbers[i]], true
		}
		i -= len(p.numbers)
	}
	return diag.Pos{}, false
}

// index returns the index of a place, false for one that the key does not cover.
func (id *identity) index(at diag.Pos) (int, bool) {
	before := 0
	for _, p := range id.places {
		if n, known := p.of.numbers[at]; known {
			if i := p.firstOf(n); i >= 0 {
				return before + i, true
			}
		}
		before += len(p.numbers)
	}
	return 0, false
}
