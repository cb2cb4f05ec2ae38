package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/secret"
)

// Memory is what came out for subjects that nothing was wider for, by the keys of their jobs. A
// run with a memory compares only what has another key, and leaves in it what it found and what
// it still needs. Its report is the one of a run without. What has wider findings is compared
// each time.
type Memory struct {
	program string
	known   map[digest.Sum]kept
	strings []string
	whole   int // how many strings there were when it was last written anew
	blobs   [][]byte
	groups  map[string]groups // that were read, by how they are written

	run     *remembering   // the one that is under way
	runs    []*remembering // one for each view of the source
	unknown bool           // something has no key
}

// kept is the outcome of a job.
type kept struct {
	outcome int // its index among the blobs
	telling int // likewise; 0 where it is not known what the subject tells apart
}

// memoryForm begins every memory. It changes with the form.
const memoryForm = "modec verified 3\n"

// NewMemory reads what [Memory.Bytes] returned. It returns an empty memory for nil, for what
// another program wrote, and for what is damaged.
func NewMemory(program string, data []byte) *Memory {
	m := &Memory{program: program}
	head := memoryForm + program + "\n"
	body, ok := bytes.CutPrefix(data, []byte(head))
	if !ok || len(body) < sha256.Size || sha256.Sum256(body[sha256.Size:]) != [sha256.Size]byte(body[:sha256.Size]) {
		return m
	}
	r := blob{data: body[sha256.Size:]}
	m.whole = r.number()
	m.strings = make([]string, r.count())
	for i := range m.strings {
		m.strings[i] = string(r.bytes())
	}
	m.blobs = make([][]byte, r.count())
	for i := range m.blobs {
		m.blobs[i] = r.bytes()
	}
	n := r.count()
	m.known = make(map[digest.Sum]kept, n)
	for range n {
		sum := digest.Sum(r.next(sha256.Size))
		of := kept{r.number(), r.number()}
		if of.outcome >= len(m.blobs) || of.telling >= len(m.blobs) {
			r.bad = true
		}
		m.known[sum] = of
	}
	if r.bad || len(r.data) > 0 {
		return &Memory{program: program}
	}
	return m
}

// Unchanged returns how many of the subjects of the last run were not compared, since nothing
// that they depend on had changed.
func (m *Memory) Unchanged() (unchanged, subjects int) {
	if m.unknown {
		return 0, 0
	}
	compared := map[ir.SubjectRef]bool{}
	for _, run := range m.runs {
		for _, j := range run.jobs {
			compared[j.ref] = compared[j.ref] || j.past == nil
		}
	}
	for _, c := range compared {
		if !c {
			unchanged++
		}
	}
	return unchanged, len(compared)
}

// Bytes returns what to read the next time. It returns nil where that is what was read, or where
// the last run did not end.
func (m *Memory) Bytes() []byte {
	partial := func(r *remembering) bool { return !r.whole }
	if m.unknown || len(m.runs) == 0 || slices.ContainsFunc(m.runs, partial) || m.current() {
		return nil
	}
	w := memoryWriter{strings: map[string]int{}, blobs: map[string]int{}}
	w.blob(nil) // 0 stands for none
	if len(m.known) > 0 && len(m.strings) <= 2*m.whole {
		w.extend(m)
	}
	var entries []byte
	n := 0
	for _, run := range m.runs {
		for _, j := range run.jobs {
			id, ok := run.keys.keeps(j)
			if !ok {
				continue
			}
			of, ok := w.job(id, j)
			if !ok {
				continue
			}
			n++
			sum := id.sum
			entries = append(entries, sum[:]...)
			entries = binary.AppendUvarint(entries, uint64(of.outcome))
			entries = binary.AppendUvarint(entries, uint64(of.telling))
		}
	}
	if w.past == nil {
		w.whole = len(w.stringList)
	}
	body := appendTexts(binary.AppendUvarint(nil, uint64(w.whole)), w.stringList)
	body = appendTexts(body, w.blobList)
	body = binary.AppendUvarint(body, uint64(n))
	body = append(body, entries...)
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(memoryForm+m.program+"\n"), sum[:], body)
}

// current reports whether the memory is of the last run already.
func (m *Memory) current() bool {
	n := 0
	for _, run := range m.runs {
		for _, j := range run.jobs {
			if j.past != nil {
				n++
			} else if _, ok := run.keys.keeps(j); ok {
				return false
			}
		}
	}
	return n == len(m.known)
}

func appendTexts(to []byte, texts []string) []byte {
	to = binary.AppendUvarint(to, uint64(len(texts)))
	for _, t := range texts {
		to = binary.AppendUvarint(to, uint64(len(t)))
		to = append(to, t...)
	}
	return to
}

// remembering is a run with a memory.
type remembering struct {
	keys  *keys
	jobs  []*job
	whole bool // all of it was compared
}

// forget forgets the runs of the last verification.
func (m *Memory) forget() {
	if m != nil {
		m.run, m.runs, m.unknown = nil, nil, false
	}
}

// begin prepares a memory for a run. It returns nil, and nothing is remembered, where something
// has no key.
func (m *Memory) begin(req *Request, plan *plan, more *patterns) *remembering {
	if m == nil {
		return nil
	}
	m.run = nil
	if req.UntilWider || req.Universes != nil {
		return nil
	}
	k := newKeys(req, plan, more)
	if k == nil {
		m.unknown = true
		return nil
	}
	m.run = &remembering{keys: k}
	m.runs = append(m.runs, m.run)
	return m.run
}

// recall fills in what is known of some jobs, and returns the others.
func (m *Memory) recall(jobs []*job) (left []*job) {
	if m == nil || m.run == nil {
		return jobs
	}
	m.run.jobs = append(m.run.jobs, jobs...)
	for _, j := range jobs {
		id := m.run.keys.identity(j)
		of, ok := m.known[id.sum]
		if !ok || !id.ok || j.tells && of.telling == 0 || !m.fill(j, id, of) {
			left = append(left, j)
		}
	}
	return left
}

// past is what is known of a job.
type past struct {
	memory *Memory
	kept
}

// keeps returns the identity of a job whose outcome may be kept.
func (k *keys) keeps(j *job) (*identity, bool) {
	id := k.identity(j)
	return id, id.ok && len(j.out.Findings)+len(j.edited) == 0
}

// fill does so for a job. It reports false where what is kept does not fit.
func (m *Memory) fill(j *job, id *identity, of kept) bool {
	r := outcomeReader{blob{data: m.blobs[of.outcome]}, m, id, j.ref.String()}
	held, groups, out := r.outcome()
	sampled := r.sampled()
	if r.bad || len(r.data) > 0 {
		return false
	}
	j.held, j.governs, j.left, j.out, j.sampled, j.past = held, groups.governs, groups.left, out, sampled, &past{m, of}
	return true
}

// toldApart returns what a subject tells apart, for the pairs that it is a half of.
func (j *job) toldApart(ctx context.Context, w *worker) ([]Witness, error) {
	if err := j.do(ctx, w); err != nil {
		return nil, err
	}
	if j.past == nil {
		return j.telling.list, nil
	}
	var list []Witness
	r := outcomeReader{blob: blob{data: j.past.memory.blobs[j.past.telling]}, memory: j.past.memory}
	for range r.count() {
		list = append(list, r.witness())
	}
	if r.bad {
		return nil, errMemory
	}
	return list, nil
}

var errMemory = errors.New("the record of the last verification does not fit: remove it, or set MODEC_CACHE=off")

// memoryWriter collects blobs, each once.
type memoryWriter struct {
	strings, blobs       map[string]int
	stringList, blobList []string
	past                 *Memory // whose blobs are written as they are; nil to write all anew
	whole                int
}

// extend lets the numbers of a memory's strings stand, and those that nothing has any more among them: to number
// all again takes longer than to compare what changed.
func (w *memoryWriter) extend(m *Memory) {
	w.past, w.whole, w.stringList = m, m.whole, slices.Clone(m.strings)
	for i, s := range m.strings {
		w.strings[s] = i
	}
}

func (w *memoryWriter) blob(data []byte) int {
	if i, ok := w.blobs[string(data)]; ok {
		return i
	}
	text := string(data)
	w.blobs[text] = len(w.blobList)
	w.blobList = append(w.blobList, text)
	return len(w.blobList) - 1
}

func (w *memoryWriter) text(s string) int {
	i, ok := w.strings[s]
	if !ok {
		i = len(w.stringList)
		w.strings[s] = i
		w.stringList = append(w.stringList, s)
	}
	return i
}

// job writes the outcome of a job, and what it tells. It reports false for one that is not to be
// kept.
func (w *memoryWriter) job(id *identity, j *job) (kept, bool) {
	if w.past != nil && j.past != nil && j.past.memory == w.past {
		return kept{w.blob(w.past.blobs[j.past.outcome]), w.blob(w.past.blobs[j.past.telling])}, true
	}
	o := outcomeWriter{memory: w, id: id}
	o.outcome(j)
	o.sampled(j)
	if o.bad {
		return kept{}, false
	}
	of := kept{outcome: w.blob(o.data)}
	var list []Witness
	switch {
	case j.past != nil && j.past.telling > 0:
		r := outcomeReader{blob: blob{data: j.past.memory.blobs[j.past.telling]}, memory: j.past.memory}
		for range r.count() {
			list = append(list, r.witness())
		}
	case j.past == nil && j.tells:
		list = j.telling.list
	default:
		return of, true
	}
	t := outcomeWriter{memory: w}
	t.number(len(list))
	for i := range list {
		t.witness(&list[i])
	}
	if !t.bad {
		of.telling = w.blob(t.data)
	}
	return of, true
}

// outcomeWriter writes what a job found.
type outcomeWriter struct {
	data   []byte
	memory *memoryWriter
	id     *identity
	bad    bool
}

func (w *outcomeWriter) number(list ...int) {
	for _, n := range list {
		w.data = binary.AppendUvarint(w.data, uint64(n))
	}
}

func (w *outcomeWriter) bool(b bool) {
	if b {
		w.number(1)
	} else {
		w.number(0)
	}
}

// text writes a text. An outcome with a secret in one is not to be kept: actions that are decided again
// cannot be masked.
func (w *outcomeWriter) text(s string) {
	if _, known := w.memory.strings[s]; !known && secret.Text(s) != s {
		w.bad = true
		return
	}
	w.number(w.memory.text(s))
}

// place writes a place: none, one that is a whole file, or the index of one that the key covers.
func (w *outcomeWriter) place(p diag.Pos) {
	switch {
	case p.IsZero():
		w.number(0)
	case p.Line == 0 && p.Col == 0:
		w.number(1)
		w.text(p.File)
	default:
		i, ok := w.id.index(p)
		w.bad = w.bad || !ok
		w.number(2 + i)
	}
}

func (w *outcomeWriter) outcome(j *job) {
	o := &j.out
	w.bool(j.held)
	for _, g := range ir.Decided {
		h, ok := j.governs[g]
		w.bool(ok)
		w.number(int(h))
		w.bool(j.left[g])
	}
	w.number(o.Compared)
	w.tally(&o.Access)
	w.tally(&o.Approval)
	w.bool(o.Bare != nil)
	if o.Bare != nil {
		w.tally(o.Bare)
	}
	u, c := &o.Utility, &o.Counts
	w.number(u.Allow.Kept, u.Allow.Of, u.Ask.Kept, u.Ask.Of, c.Accepted, c.Narrower, c.Holes, c.HookOnly, c.Assumed,
		c.Filled)
	for _, list := range kinds(o) {
		w.number(len(*list))
		for i := range *list {
			w.finding(&(*list)[i])
		}
	}
}

// sampled writes why groups were not verified exactly.
func (w *outcomeWriter) sampled(j *job) {
	for _, g := range ir.Groups {
		why := ""
		if err := j.sampled[g]; err != nil {
			why = err.Error()
		}
		w.text(why)
	}
}

// kinds are the lists of findings that an outcome may have.
func kinds(s *Surface) []*[]Finding {
	return []*[]Finding{&s.Accepted, &s.Narrower, &s.Holes, &s.HookOnly, &s.Assumed, &s.Filled}
}

// findings returns these lists, and the one of what is wider.
func (s *Surface) findings() []*[]Finding { return append(kinds(s), &s.Findings) }

func (w *outcomeWriter) tally(t *Tally) {
	w.number(t.Compared, t.Equal, t.Narrower, t.Wider, t.Accepted, t.HookOnly)
}

func (w *outcomeWriter) finding(f *Finding) {
	w.number(slices.Index(ir.Decided, f.Group))
	w.text(f.Action)
	w.text(f.Class)
	w.text(f.Half)
	w.bool(f.Without)
	w.bool(f.Alone)
	w.number(int(f.Source), int(f.Artifact))
	w.text(f.Rule)
	w.place(f.Pos)
	w.text(f.By)
	w.place(f.At)
	w.number(f.Count)
	w.text(f.Accept)
}

func (w *outcomeWriter) witness(x *Witness) {
	w.number(slices.Index(ir.Decided, x.Group))
	w.text(x.Server)
	w.text(x.Arg)
	w.number(int(x.Kind))
	w.text(x.Class)
	w.bool(x.Assumed)
}

// blob reads numbers and texts. What does not fit makes it bad, and reads as nothing.
type blob struct {
	data []byte
	bad  bool
}

func (r *blob) number() int {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > 1<<31 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[size:]
	return int(n)
}

// count returns how many of something follow, each of which takes a byte at least.
func (r *blob) count() int {
	n := r.number()
	if n > len(r.data) {
		r.bad, r.data = true, nil
		return 0
	}
	return n
}

func (r *blob) next(n int) []byte {
	if n > len(r.data) {
		r.bad, r.data = true, nil
		return make([]byte, n)
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

func (r *blob) bytes() []byte { return r.next(r.count()) }

func (r *blob) bool() bool { return r.number() == 1 }

// outcomeReader reads what an outcomeWriter wrote.
type outcomeReader struct {
	blob
	memory  *Memory
	id      *identity
	subject string
}

func (r *outcomeReader) text() string {
	i := r.number()
	if i >= len(r.memory.strings) {
		r.bad = true
		return ""
	}
	return r.memory.strings[i]
}

func (r *outcomeReader) group() ir.Group {
	i := r.number()
	if i >= len(ir.Decided) {
		r.bad = true
		return ""
	}
	return ir.Decided[i]
}

func (r *outcomeReader) place() diag.Pos {
	switch n := r.number(); n {
	case 0:
		return diag.Pos{}
	case 1:
		return diag.Pos{File: r.text()}
	default:
		at, ok := r.id.at(n - 2)
		r.bad = r.bad || !ok
		return at
	}
}

func (r *outcomeReader) outcome() (held bool, of groups, o Surface) {
	held, of = r.bool(), r.groups()
	o.Compared = r.number()
	o.Access, o.Approval = r.tally(), r.tally()
	if r.bool() {
		bare := r.tally()
		o.Bare = &bare
	}
	o.Utility = Utility{Allow: Share{r.number(), r.number()}, Ask: Share{r.number(), r.number()}}
	o.Counts = Counts{
		Accepted: r.number(), Narrower: r.number(), Holes: r.number(), HookOnly: r.number(), Assumed: r.number(),
		Filled: r.number(),
	}
	for _, list := range kinds(&o) {
		if n := r.count(); n > 0 {
			*list = make([]Finding, n)
			for i := range *list {
				(*list)[i] = r.finding()
			}
		}
	}
	return held, of, o
}

// groups are what a surface governs of each group, and leaves to the agent.
type groups struct {
	governs map[ir.Group]contract.Halves
	left    map[ir.Group]bool
}

// groups reads them. Most subjects have the same ones.
func (r *outcomeReader) groups() groups {
	start := r.data
	for range 3 * len(ir.Decided) {
		r.number()
	}
	text := start[:len(start)-len(r.data)]
	if of, ok := r.memory.groups[string(text)]; ok {
		return of
	}
	of, in := groups{map[ir.Group]contract.Halves{}, map[ir.Group]bool{}}, blob{data: text}
	for _, g := range ir.Decided {
		there, h, left := in.bool(), in.number(), in.bool()
		if there {
			of.governs[g] = contract.Halves(h)
		}
		if left {
			of.left[g] = true
		}
	}
	if r.memory.groups == nil {
		r.memory.groups = map[string]groups{}
	}
	r.memory.groups[string(text)] = of
	return of
}

// sampled reads why groups were not verified exactly; most were.
func (r *outcomeReader) sampled() map[ir.Group]error {
	var out map[ir.Group]error
	for _, g := range ir.Groups {
		if why := r.text(); why != "" {
			if out == nil {
				out = map[ir.Group]error{}
			}
			out[g] = errors.New(why)
		}
	}
	return out
}

func (r *outcomeReader) tally() Tally {
	return Tally{r.number(), r.number(), r.number(), r.number(), r.number(), r.number()}
}

func (r *outcomeReader) finding() Finding {
	return Finding{
		Subject: r.subject, Group: r.group(), Action: r.text(), Class: r.text(), Half: r.text(),
		Without: r.bool(), Alone: r.bool(),
		Source: r.decision(), Artifact: r.decision(), Rule: r.text(), Pos: r.place(), By: r.text(), At: r.place(),
		Count: r.number(), Accept: r.text(),
	}
}

func (r *outcomeReader) decision() ir.Decision {
	n := r.number()
	if n > int(ir.Agent) {
		r.bad = true
		return ir.Deny
	}
	return ir.Decision(n)
}

func (r *outcomeReader) witness() Witness {
	return Witness{
		Action: policy.Action{Group: r.group(), Server: r.text(), Arg: r.text(), Kind: policy.MCPKind(r.number())},
		Class:  r.text(), Assumed: r.bool(),
	}
}
