package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/record"
)

// memory is the record of the build before, and of this one for the next.
type memory struct {
	place, program string
	today          time.Time
	dir, out       string
	lock, pending  string
	project, disk  *record.Reads // what was read of the project, and of the output root
}

// memory finds the place of a build's record. A build that prints everything, or that
// writes nothing or by force, has none.
func (c *buildCmd) memory(e *env, req compiler.Request, out string) *memory {
	m := &memory{program: record.Program(version()), today: req.Today, dir: e.dir, out: out}
	m.lock, m.pending = output.Locks(e.local)
	if !e.ui.json && e.ui.annotator == nil && !e.ui.verbose && !c.DryRun && !c.Force && !c.Diff {
		key := append([]string{fmt.Sprint(c.Check), e.home(e.dir), out}, c.Target...)
		if c.Check { // a file of these in a new folder is in nothing that the build before read
			key = append(key, e.nested()...)
		}
		m.place = record.Place(key...)
	}
	return m
}

// recall returns the summary of the build before, if nothing changed since.
func (m *memory) recall() *record.Summary {
	if r := record.Load(m.place, m.program, m.today, m.dir, m.out); r != nil {
		return &r.Summary
	}
	return nil
}

// noting returns a file system that records what is read of it, where there is a record.
func (m *memory) noting(reads **record.Reads, fsys fs.FS) fs.FS {
	if m.place == "" {
		return fsys
	}
	*reads = record.NewReads(fsys)
	return *reads
}

// forget keeps this build from being remembered.
func (m *memory) forget() { m.project = nil }

// remember records what a build wrote, and what a check read of it.
func (m *memory) remember(changes []output.Change, s record.Summary) {
	if m.project == nil {
		return
	}
	r := record.New(m.program, m.today)
	r.Summary = s
	var ok bool
	if r.Project, ok = m.project.States(); !ok {
		return
	}
	if m.disk != nil {
		if r.Output, ok = m.disk.States(); !ok {
			return
		}
	}
	for i := range changes {
		if _, data := changes[i].Texts(); changes[i].Action != output.Remove && changes[i].Path != m.lock {
			r.File(changes[i].Path, data)
		}
	}
	lock, err := contract.ReadPlain(filepath.Join(m.out, filepath.FromSlash(m.lock)))
	if err != nil {
		return
	}
	r.File(m.lock, lock)
	r.Missing(m.pending)
	r.Save(m.place)
}

// summaryOf returns what a later build prints about this one where nothing changed.
func summaryOf(res *compiler.Result, changes []output.Change, diags diag.List) record.Summary {
	s := record.Summary{Targets: len(res.Outputs), Warnings: diags.Count(diag.Warning)}
	for _, d := range diags {
		if d.Severity != diag.Note {
			s.Diagnostics = append(s.Diagnostics, d)
		}
	}
	for _, o := range res.Outputs {
		s.Losses += len(o.Losses)
	}
	for _, c := range changes {
		if c.Action != output.Remove {
			s.Files++
		}
	}
	return s
}
