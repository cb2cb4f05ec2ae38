package output

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// checkLock reports a lock that differs from the one of this build, where nothing else
// differs, and in its place the files that people touched. It ignores which version of modec wrote it.
func (w *writer) checkLock(b Build, changes []Change) []Change {
	if w.diags.HasErrors() || slices.ContainsFunc(changes, func(c Change) bool { return c.Action != Unchanged }) {
		return nil
	}
	next := w.nextLock(b, changes)
	if w.lock != nil && w.lock.Unheld == nil { // that a newer modec keeps lists is no drift
		next.Unheld, next.Known = nil, w.lock.Known
	}
	c := Change{Target: "modec", Path: LockFile, Action: Update, State: Stale, have: w.lockRaw}
	if w.lockRaw == nil {
		c.Action, c.State = Create, Missing
	} else if _, _, conflict := sides(w.lockRaw); !conflict { // else it is built again
		next.Modec = w.lock.Modec
		if reflect.DeepEqual(w.sameLayout(next), w.lock) || w.touched(b, next, changes) {
			return nil
		}
	}
	c.data, _ = next.marshal()
	c.Bytes, c.SHA256 = len(c.data), Sum(c.data)
	return []Change{c}
}

// sameLayout returns a lock in which an adopted file that says what it said is as the lock before has it:
// an agent's own layout is no drift.
func (w *writer) sameLayout(next *Lock) *Lock {
	for p, a := range w.lock.Adopted {
		if _, ok := next.Adopted[p]; ok && w.lock.Left[p] != "" && w.lock.Left[p] == next.Left[p] {
			next.Adopted[p] = a
		}
	}
	return next
}

// touched marks the files in which people changed entries of their own since the last build.
func (w *writer) touched(b Build, next *Lock, changes []Change) (any bool) {
	dropped := namesOf(w.dropped(b))
	for i := range changes {
		c := &changes[i]
		if old := w.lock.asBuilt(c.Path); old != "" && old != next.asBuilt(c.Path) {
			c.Action, c.State, any = Update, Touched, true
			if dropped[c.Target] { // what a build takes out is no change of anybody's
				c.State = Orphaned
			}
		}
	}
	return any
}

// sumLeft returns the hash of a file that people write too as the build leaves it: as an older modec wrote it, where
// the file says the same.
func (w *writer) sumLeft(c *Change) string {
	if w.lock != nil && w.lock.leaves(c.Path, c.data) {
		return w.lock.Left[c.Path]
	}
	return sumLeft(c.data, c.about)
}

// unheld returns the files that no target held when the first build was made, and that none holds now. A later build
// adds none but those of the targets that it drops: what somebody adds beside a project is news until the source has
// it.
func (w *writer) unheld(l *Lock, dropped []string) (paths []string) {
	switch {
	case w.settled != nil && w.settled.Unheld != nil:
		paths = slices.Clone(w.settled.Unheld)
	case w.opt.Unheld != nil:
		paths = w.opt.Unheld()
	}
	paths = append(append([]string{}, paths...), dropped...) // never nil
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return slices.DeleteFunc(paths, func(p string) bool { return l.Artifacts[p] != "" })
}

// known returns the warnings about what the first build took over, none where there was nothing to take over, and what
// agents load beside it. A later one adds what it takes over for targets that are new, and what their agents load, and
// nothing else; the first one after an older modec, which kept no warnings, does so for all targets.
func (w *writer) known(l *Lock) (lines []string) {
	ask := func() []string {
		if w.opt.Known == nil {
			return nil
		}
		return w.opt.Known()
	}
	if w.settled == nil || w.settled.Unheld == nil {
		if len(l.Adopted) > 0 {
			lines = ask()
		}
		lines = append(lines, w.lodged(nil)...)
		slices.Sort(lines)
		return lines
	}
	lines = slices.Clone(w.settled.Known)
	had := targetsOf(w.settled)
	for target := range targetsOf(l) {
		if !had[target] {
			lines = append(lines, w.lodged(had)...)
			break
		}
	}
	if came := w.came(l); len(came) > 0 {
		for _, line := range ask() {
			_, about, _ := strings.Cut(line, " ")
			if file, _, _ := strings.Cut(about, ": "); came[file] {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// came returns the files that a build takes over for targets that are new, and those of the source that an import made
// of them.
func (w *writer) came(l *Lock) map[string]bool {
	had, came := targetsOf(w.settled), map[string]bool{}
	had[""] = true
	for path := range l.Adopted {
		if target, _ := splitArtifact(l.Artifacts[path]); had[target] {
			continue
		}
		came[path] = true
		record := w.record()
		if f, ok := record.Original(path); ok {
			for name := range record.Imports[f.Import] {
				came[name] = true
			}
		}
	}
	return came
}

// targetsOf returns the targets of which a lock has artifacts.
func targetsOf(l *Lock) map[string]bool {
	of := map[string]bool{}
	for _, line := range l.Artifacts {
		target, _ := splitArtifact(line)
		of[target] = true
	}
	return of
}

// lodged returns the lines about what agents load of people's own, but for the targets of the last build.
func (w *writer) lodged(had map[string]bool) (lines []string) {
	if w.opt.Lodged == nil {
		return nil
	}
	all := w.opt.Lodged()
	for _, target := range slices.Sorted(maps.Keys(all)) {
		if !had[target] {
			lines = append(lines, all[target]...)
		}
	}
	return lines
}

// nextLock returns the lock after this build: what it wrote, and what earlier
// builds wrote for targets that this one does not compile.
func (w *writer) nextLock(b Build, changes []Change) *Lock {
	l := &Lock{
		Version:   lockVersion,
		Modec:     w.opt.Version,
		Model:     b.Model,
		Schema:    b.Schema,
		Artifacts: map[string]string{},
	}
	compiled, dropped := map[string]bool{}, namesOf(w.dropped(b))
	maps.Copy(compiled, dropped)
	for _, o := range b.Outputs {
		compiled[o.Target.Name()] = true
		for _, d := range o.Losses {
			if d.Loss == diag.Widening {
				l.Accepted = append(l.Accepted, fmt.Sprintf("%s: %s: %s", d.Target, d.Subject, d.Message))
			}
		}
	}
	if w.settled != nil {
		for _, line := range w.settled.Accepted {
			if name, _, _ := strings.Cut(line, ":"); !compiled[name] {
				l.Accepted = append(l.Accepted, line)
			}
		}
	}
	slices.Sort(l.Accepted)
	l.Accepted = slices.Compact(l.Accepted)
	if w.settled != nil {
		for p, v := range w.settled.Artifacts {
			if name, _ := splitArtifact(v); !compiled[name] {
				l.Artifacts[p] = v
				l.remember(p, w.settled.Entries[p])
				l.left(p, w.settled.Left[p])
			}
		}
		l.Adopted = maps.Clone(w.settled.Adopted)
		if b.Partial {
			l.Theirs = maps.Clone(w.settled.Theirs)
		}
	}
	var theirs []string // the files of targets that the project no longer has
	for i := range changes {
		c := &changes[i]
		if dropped[c.Target] && c.Action != Remove {
			theirs = append(theirs, c.Path)
		}
		if c.Restored {
			delete(l.Adopted, c.Path)
			continue
		}
		w.adopt(b, l, c)
		l.found(c.Path, c.theirs)
		switch {
		case c.Action == Remove:
		case !c.Merged:
			l.Artifacts[c.Path] = artifactLine(c.Target, c.SHA256)
		case len(c.entries) > 0:
			l.Artifacts[c.Path] = artifactLine(c.Target, mergedFile)
			l.remember(c.Path, c.entries)
			l.left(c.Path, w.sumLeft(c))
		}
	}
	l.Unheld, l.Known = w.unheld(l, theirs), w.known(l)
	for p, a := range l.Adopted {
		if l.Artifacts[p] == "" && a.Places == nil { // also where an interrupted build removed it
			a.Built = ""
			l.Adopted[p] = a
		}
	}
	return l
}
