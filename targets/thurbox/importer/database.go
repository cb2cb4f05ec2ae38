package importer

import (
	"encoding/json"
	"errors"
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
// migrations.rs): v2 to v12 keep them by project, v13 to v22 for everybody, v23 drops them.
const lastWithRoles = 22

// database reads thurbox.db. at is its name in places.
func (im *importer) database(fsys fs.FS, name, at string) {
	d, err := located.OpenDatabase(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	im.out.Files = append(im.out.Files, at)
	place := diag.Pos{File: at}
	if err != nil {
		im.errorf(place, "the database cannot be read: %v", err)
		return
	}
	defer d.Close()
	rows, err := d.Rows("SELECT value FROM metadata WHERE key = 'schema_version'")
	if err != nil || len(rows) != 1 {
		im.errorf(place, "the file is not a database of Thurbox: it has no schema_version")
		return
	}
	version, _ := strconv.Atoi(rows[0][0])
	if version < 2 || version > lastWithRoles {
		im.errorf(place, "got a database of schema version %q, want one from 2 to %d: others have no roles",
			rows[0][0], lastWithRoles)
		return
	}
	if d.Pending {
		im.out.Note(contract.Left, diag.Pos{File: at + "-wal"}, "", name+"-wal",
			"changes that Thurbox has not written back yet are not seen: close it first")
	}
	if err := im.tables(d, at); err != nil {
		im.errorf(place, "the database cannot be read: %v", err)
	}
}

// roleTables are the tables that contain roles, the newer one first. Where it is there, the
// other was its seed.
var roleTables = []struct{ name, from, project string }{
	{"roles", "roles", "''"},
	{"project_roles", "project_roles JOIN projects ON projects.id = project_roles.project_id AND " +
		"projects.deleted_at IS NULL", "projects.name"},
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
	for _, t := range roleTables {
		if !has(t.name) {
			continue
		}
		rows, err := rolesIn(d, t.name, t.from, t.project)
		if err != nil {
			return err
		}
		for i, row := range rows {
			im.row(at, diag.Pos{File: at, Line: i + 1}, row)
		}
		break
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

// rolesIn reads a table of roles. Columns that it does not have are NULL.
func rolesIn(d *located.Database, table, from, project string) ([][]string, error) {
	columns, err := columnsOf(d, table)
	if err != nil {
		return nil, err
	}
	selected := []string{project}
	for _, name := range []string{"role_name", "description", "permission_mode", "allowed_tools", "disallowed_tools",
		"tools", "append_system_prompt", "env"} {
		column := "NULL"
		if slices.Contains(columns, name) {
			column = table + "." + name
		}
		selected = append(selected, column)
	}
	selected = append(selected, selected[6]+" IS NULL")
	return d.Rows("SELECT " + strings.Join(selected, ", ") + " FROM " + from + " ORDER BY 1, 2")
}

func columnsOf(d *located.Database, table string) ([]string, error) {
	rows, err := d.Rows("SELECT name FROM pragma_table_info(?)", table)
	var out []string
	for _, r := range rows {
		out = append(out, r[0])
	}
	return out, err
}

// row reads a role. The line of a place is the row, since a database has no lines.
func (im *importer) row(file string, at diag.Pos, row []string) {
	r := importedRole{at: at}
	r.Name, r.Description, r.PermissionMode, r.AppendSystemPrompt = row[1], row[2], row[3], row[7]
	r.AllowedTools, r.DisallowedTools = list(row[4]), list(row[5])
	if row[9] == "0" {
		r.Tools = &row[6]
	}
	if row[8] != "" {
		if err := json.Unmarshal([]byte(row[8]), &r.Env); err != nil {
			im.out.Note(contract.Refused, at, "role "+r.Name, "env", "it is not a JSON object")
		}
	}
	if project := row[0]; project != "" && im.has(strings.TrimSpace(r.Name)) {
		own := r.Name + " (" + project + ")"
		im.out.Note(contract.Conflict, at, "role "+r.Name, r.Name,
			"another project has a role of this name: it is called "+own)
		r.Name = own
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
	s := ir.Server{
		Name: row[0], Pos: at, Type: "stdio", Command: row[1], DefaultEnabled: true, Tools: []ir.Tool{}}
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
		im.out.Note(contract.Refused, at, subject, "env", "it is not a JSON object")
	}
	im.server(s)
}
