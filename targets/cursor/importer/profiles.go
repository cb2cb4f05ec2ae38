package importer

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/cursor/format"
)

// profiles reads the files that modec wrote for roles.
func (im *importer) profiles() {
	dirs, _ := fs.ReadDir(im.src.Root, format.ProfilesDir)
	for _, d := range dirs {
		im.profile(path.Join(format.ProfilesDir, d.Name()))
	}
}

// profile reads the files of one role. One of the lists alone may permit more than both
// together, so that an allow counts where both have it.
func (im *importer) profile(dir string) {
	at, base := diag.Pos{File: dir}, path.Base(dir)
	ref, ok := format.ProfileSubject(base)
	if !ok || ref.Role == "" {
		im.out.Note(contract.Left, at, "", base, "modec wrote it for a mode: its source says what it may do")
		return
	}
	hooks, err := contract.ReadImport(im.src.Root, path.Join(dir, format.HooksFile))
	if err == nil && strings.Contains(string(hooks), ownHook) && !im.src.Ours {
		im.out.Note(contract.Left, at, "", base, "modec wrote it: its hook decides by a source that is there already")
		return
	}
	tokens, hasTokens := im.profileFile(dir, format.TokensFile)
	lists, hasLists := im.profileFile(dir, format.PermissionsFile)
	if hasTokens != hasLists {
		im.out.Note(contract.Left, at, "role "+ref.Role, base,
			"modec writes cli.json and permissions.json for a role: one alone is half of it")
	}
	if !hasTokens || !hasLists || im.roles[ref.Role] != nil {
		return
	}
	r := im.alone(ref.Role, func(own *importer) {
		own.tokensFile(tokens)
		if r := own.roles[cliRole]; r != nil {
			own.addTokens(r)
		}
	})
	other := im.alone(ref.Role, func(own *importer) { own.permissionsFile(lists) })
	if r == nil || other == nil {
		return
	}
	both(r, other)
	im.roles[ref.Role] = r
	im.out.Originals = append(im.out.Originals, contract.Original{
		File: tokens.name, Files: memfs.FS{tokens.name: tokens.data, lists.name: lists.data},
		Subjects: []ir.SubjectRef{ref},
	})
}

func (im *importer) profileFile(dir, base string) (document, bool) {
	name := path.Join(dir, base)
	data, ok := im.out.Read(im.src.Root, name, name, codeImport, &im.diags)
	return document{name, data}, ok
}

// alone reads a file by itself and returns the role that it becomes, under a name.
func (im *importer) alone(name string, read func(*importer)) *ir.Role {
	own := newImporter(contract.Source{Root: im.src.Root})
	own.neutral = true
	own.servers, own.out.Comments = im.servers, im.out.Comments
	read(own)
	im.diags = append(im.diags, own.diags...)
	for _, n := range own.out.Notes {
		if n.Rule {
			n.Subject = "role " + name
			im.out.Notes = append(im.out.Notes, n)
		}
	}
	for _, r := range own.roles { // one at most
		r.Name = name
		return r
	}
	return nil
}

// both removes what a role is allowed and the lists of the IDE do not allow.
func both(r, lists *ir.Role) {
	keep := func(own, other []ir.Rule) []ir.Rule {
		return slices.DeleteFunc(own, func(x ir.Rule) bool {
			return x.Decision == ir.Allow && !slices.ContainsFunc(other, func(y ir.Rule) bool {
				return y.Decision == ir.Allow && y.Pattern == x.Pattern
			})
		})
	}
	r.Can.Command.Rules = keep(r.Can.Command.Rules, lists.Can.Command.Rules)
	r.Can.Command.Default, r.Can.MCP.Default = lists.Can.Command.Default, lists.Can.MCP.Default
	for i := range r.Can.MCP.Entries {
		e := &r.Can.MCP.Entries[i]
		var other []ir.Rule
		for _, x := range lists.Can.MCP.Entries {
			if x.Key == e.Key {
				other = x.Rules
			}
		}
		e.Rules = keep(e.Rules, other)
	}
}
