package thurbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// lastWithRoles is the last schema version that has roles (src/storage/schema/
// migrations.rs): v2 to v12 keep them by project, v13 to v22 for everybody, v23
// drops them.
const lastWithRoles = 22

// database reads thurbox.db.
func (im *importer) database(fsys fs.FS, name, at string) {
	d, err := located.OpenDatabase(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	im.out.Files = append(im.out.Files, at)
	fail := func(format string, args ...any) {
		im.diags.Errorf(codeImport, diag.Pos{File: at}, format, args...)
	}
	if err != nil {
		fail("got a database that cannot be read: %v", err)
		return
	}
	defer d.Close()
	rows, err := d.Rows("SELECT value FROM metadata WHERE key = 'schema_version'")
	if err != nil || len(rows) != 1 {
		fail("got no database of Thurbox, want one with a schema_version")
		return
	}
	version, _ := strconv.Atoi(rows[0][0])
	if version < 2 || version > lastWithRoles {
		fail("got a database of schema version %q, want one from 2 to %d: others have no roles", rows[0][0], lastWithRoles)
		return
	}
	if d.Pending {
		im.out.Note(contract.Left, diag.Pos{File: at + "-wal"}, "", name+"-wal", "changes that Thurbox has not written back yet are not seen: close it first")
	}
	if err := im.tables(d, at); err != nil {
		fail("got a database that cannot be read: %v", err)
	}
}

// tables reads the roles and servers that a database has.
func (im *importer) tables(d *located.Database, at string) error {
	tables, err := d.Rows("SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		return err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(tables, func(r []string) bool { return r[0] == name })
	}
	for _, t := range []struct{ table, from, project string }{
		{"roles", "roles", "''"},
		{"project_roles", "project_roles JOIN projects ON projects.id = project_roles.project_id AND projects.deleted_at IS NULL", "projects.name"},
	} {
		if !has(t.table) {
			continue
		}
		columns, err := columnsOf(d, t.table)
		if err != nil {
			return err
		}
		col := func(name string) string {
			if slices.Contains(columns, name) {
				return t.table + "." + name
			}
			return "NULL"
		}
		rows, err := d.Rows(fmt.Sprintf("SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s, %s IS NULL FROM %s ORDER BY 1, 2", t.project, col("role_name"), col("description"), col("permission_mode"),
			col("allowed_tools"), col("disallowed_tools"), col("tools"), col("append_system_prompt"), col("env"), col("tools"), t.from))
		if err != nil {
			return err
		}
		for i, row := range rows {
			im.row(at, diag.Pos{File: at, Line: i + 1}, row)
		}
		if t.table == "roles" {
			break // those of projects were its seed
		}
	}
	for _, table := range []string{"mcp_servers", "project_mcp_servers"} {
		if !has(table) {
			continue
		}
		rows, err := d.Rows("SELECT server_name, command, args, env FROM " + table + " ORDER BY 1")
		if err != nil {
			return err
		}
		for i, row := range rows {
			im.serverRow(diag.Pos{File: at, Line: i + 1}, row)
		}
		break
	}
	return nil
}

func columnsOf(d *located.Database, table string) ([]string, error) {
	rows, err := d.Rows("SELECT name FROM pragma_table_info(?)", table)
	var out []string
	for _, r := range rows {
		out = append(out, r[0])
	}
	return out, err
}

// row reads a role. The place names its row, since a database has no lines.
func (im *importer) row(file string, at diag.Pos, row []string) {
	r := importedRole{at: at}
	r.Name, r.Description, r.PermissionMode, r.AppendSystemPrompt = row[1], row[2], row[3], row[7]
	r.AllowedTools, r.DisallowedTools = list(row[4]), list(row[5])
	if row[9] == "0" {
		r.Tools = &row[6]
	}
	if row[8] != "" {
		if err := json.Unmarshal([]byte(row[8]), &r.Env); err != nil {
			im.out.Note(contract.Refused, at, "role "+r.Name, "env", "it is no JSON object")
		}
	}
	if project := row[0]; project != "" && im.has(strings.TrimSpace(r.Name)) {
		im.out.Note(contract.Conflict, at, "role "+r.Name, r.Name, "another project has a role of this name: it is called "+r.Name+" ("+project+")")
		r.Name += " (" + project + ")"
	}
	im.role(file, r)
}

func list(joined string) []string {
	if joined == "" {
		return nil
	}
	return strings.Split(joined, ",")
}

func (im *importer) serverRow(at diag.Pos, row []string) {
	s := ir.Server{Name: row[0], Pos: at, Type: "stdio", Command: row[1], DefaultEnabled: true, Tools: []ir.Tool{}}
	subject := "server " + s.Name
	if !contract.ServerName(s.Name) {
		im.out.NoteRule(contract.Refused, at, subject, s.Name, "the source does not take this name of a server")
		return
	}
	if s.Command == "" {
		s.Type = ir.External
	}
	if row[2] != "" && json.Unmarshal([]byte(row[2]), &s.Args) != nil {
		s.Args = strings.Fields(row[2])
	}
	if row[3] != "" && json.Unmarshal([]byte(row[3]), &s.Env) != nil {
		im.out.Note(contract.Refused, at, subject, "env", "it is no JSON object")
	}
	im.server(s)
}
