package compiler

import (
	"bytes"
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
	Sum  []byte   // one digest of all of it
	Disk []string // the paths that were read of the disk
}

// Proof identifies what a verification depends on: the model and what it was compiled to, the disk, where one is
// judged, the day and the seed, and by args whatever else the caller adds. It is to be asked for after the
// verification.
func (r *Result) Proof(seed uint64, disk *contract.Reads, args ...string) []byte {
	var p proof
	h := sha256.New()
	fmt.Fprintln(h, args, seed, r.now.Format(time.DateOnly))
	json.NewEncoder(h).Encode(r.Project) // which contains the digest of the source
	for _, o := range r.Outputs {
		fmt.Fprintln(h, o.Target.Name())
		for _, f := range slices.Concat(o.Files, o.Sessions) {
			fmt.Fprintf(h, "%q %q\n", f.Path, f.Data)
		}
	}
	if disk != nil {
		p.Disk = slices.Sorted(maps.Keys(disk.States()))
		fmt.Fprintln(h, disk.States())
	}
	p.Sum = h.Sum(nil)
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
	return bytes.Equal(r.Proof(seed, now, args...), before)
}
