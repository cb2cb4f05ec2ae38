package migrate

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
)

// Permission is a rule that a source is to have.
type Permission struct {
	Subject  ir.SubjectRef // a mode or a role
	Group    ir.Group
	Server   string      // of a tool
	Decision ir.Decision // ask or allow
	Text     string      // as the list of the source has it
}

// Permit returns the files of a source in a folder that change where it gets more permissions. A permission goes into
// the subject's own table. Where the subject's own list of asks has it, alone, an allow takes it out there.
func Permit(root fs.FS, dir string, permissions ...Permission) ([]contract.File, error) {
	p := &patcher{fsys: root, dir: dir, files: memfs.FS{}}
	for _, x := range permissions {
		if err := p.do(x.add); err != nil {
			return nil, err
		}
	}
	return p.changed(), nil
}

func (x *Permission) add(p *patcher) error {
	at := []string{"roles", x.Subject.Role, "can", string(x.Group)}
	if x.Subject.Role == "" {
		at = []string{"modes", x.Subject.Mode, "can", string(x.Group)}
	}
	if x.Server != "" {
		at = append(at, x.Server)
	}
	item := text(x.Text)
	var changes []func(*patcher) error
	asks := append(slices.Clip(at), ir.Ask.String())
	if n := p.get(asks); x.Decision == ir.Allow && n != nil && slices.ContainsFunc(n.Elems, item.same) {
		take := func(p *patcher) error { return p.drop(asks, item) }
		if len(n.Elems) == 1 {
			take = func(p *patcher) error { return p.unset(asks) }
		}
		changes = append(changes, take)
	}
	add := func(p *patcher) error { return p.add(append(slices.Clip(at), x.Decision.String()), item) }
	return p.all(append(changes, add))
}
