package compiler

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"modec.dev/modec/compiler/contract"
)

// proof is what a verification that found nothing depends on.
type proof struct {
	Sum  string   // one digest of all of it
	Disk []string // the paths that were read of the disk
}

// Proof identifies what a verification depends on: what the project was compiled from, the disk, where one is judged,
// the day and the seed, and by args whatever else the caller adds. It is to be asked for after the verification.
func (r *Result) Proof(seed uint64, disk *contract.Reads, args ...string) []byte {
	var p proof
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %s\n", args, seed, r.now.Format(time.DateOnly))
	for _, o := range r.Outputs {
		fmt.Fprintln(h, o.Target.Name())
	}
	fmt.Fprintf(h, "%q\n", r.reads.States())
	if disk != nil {
		states := disk.States()
		p.Disk = slices.Sorted(maps.Keys(states))
		fmt.Fprintf(h, "%q\n", states)
	}
	p.Sum = fmt.Sprintf("%x", h.Sum(nil))
	data, _ := json.Marshal(p) // two fields of texts
	return data
}

// Proved reports whether nothing of what [Result.Proof] identified has changed since.
func (r *Result) Proved(before []byte, seed uint64, disk fs.FS, args ...string) bool {
	var p proof
	if json.Unmarshal(before, &p) != nil {
		return false
	}
	var now *contract.Reads
	if disk != nil {
		now = contract.NewReads(disk)
		for _, name := range p.Disk {
			now.Note(name)
		}
	}
	return string(r.Proof(seed, now, args...)) == string(before)
}
