package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/output"
)

// reportVersion is the version of all JSON outputs. A field that is removed, or that
// changes its meaning, makes another one.
const reportVersion = 1

// Envelope begins every report.
type Envelope struct {
	Version int    `json:"version"`
	Command string `json:"command"`
}

// Envelope returns that of the running command.
func (u *Printer) Envelope() Envelope { return Envelope{reportVersion, u.command} }

// Outcome is the report of a command that its diagnostics stopped.
type Outcome struct {
	Envelope
	Status      string    `json:"status" enum:"failed"`
	Diagnostics diag.List `json:"diagnostics" jsonschema:"what stopped the command"`
}

// enums are the words of the types that a report may hold.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[ir.Decision]():       {"deny", "ask", "allow", "agent"},
	reflect.TypeFor[ir.Group]():          words(ir.Decided),
	reflect.TypeFor[diag.Severity]():     {"error", "warning", "note"},
	reflect.TypeFor[diag.Loss]():         words([]diag.Loss{diag.Narrowing, diag.Widening, diag.Text}),
	reflect.TypeFor[diff.Kind]():         words([]diff.Kind{diff.Widened, diff.Narrowed, diff.Changed}),
	reflect.TypeFor[migrate.Form]():      append(words(migrate.Forms), ""),
	reflect.TypeFor[contract.NoteKind](): words(noteOrder),
	reflect.TypeFor[contract.OptionType](): words(
		[]contract.OptionType{contract.String, contract.Bool, contract.Int, contract.Strings}),
	reflect.TypeFor[audit.Via](): words(
		[]audit.Via{audit.ViaHook, audit.ViaGateway, audit.ViaServe, audit.ViaCommand, audit.ViaLog}),
	reflect.TypeFor[audit.Kind](): words(
		[]audit.Kind{audit.Missing, audit.Cut, audit.Edited, audit.Reordered, audit.Foreign}),
	reflect.TypeFor[audit.Outcome](): words([]audit.Outcome{audit.Allowed, audit.Asked, audit.Refused, audit.Left,
		audit.Done, audit.Failed, audit.Declined, audit.Lost}),
	reflect.TypeFor[output.Action](): words(
		[]output.Action{output.Create, output.Update, output.Unchanged, output.Remove}),
	reflect.TypeFor[output.State](): words(
		[]output.State{output.Missing, output.Stale, output.Edited, output.Foreign, output.Orphaned, output.Touched,
			output.Removed}),
}

func words[T ~string](list []T) (all []any) {
	for _, w := range list {
		all = append(all, string(w))
	}
	return all
}

// ReportSchema returns the JSON Schema of a command's JSON output: any of its reports.
func ReportSchema(command string, reports []any) (*jsonschema.Schema, error) {
	types := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {Type: "object"}}
	for t, words := range enums {
		types[t] = &jsonschema.Schema{Type: "string", Enum: words}
	}
	var forms []*jsonschema.Schema
	for _, r := range reports {
		t := reflect.TypeOf(r)
		s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
		if err != nil {
			return nil, fmt.Errorf("the schema of %s: %w", command, err)
		}
		neverNull(s)
		for _, f := range reflect.VisibleFields(t) {
			if list := f.Tag.Get("enum"); list != "" {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				s.Properties[name].Enum = words(strings.Split(list, ","))
			}
		}
		s.Properties["version"].Const = jsonschema.Ptr[any](reportVersion)
		s.Properties["command"].Const = jsonschema.Ptr[any](command)
		forms = append(forms, s)
	}
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema",
		Title:  "The output of modec " + command + " --json",
		AnyOf:  forms,
	}, nil
}

// neverNull takes null out of the types of lists: emit writes [] for an empty one.
func neverNull(s *jsonschema.Schema) {
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	for _, p := range s.Properties {
		neverNull(p)
	}
	for _, p := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if p != nil {
			neverNull(p)
		}
	}
}

// Emit writes a report as JSON on standard output.
func (u *Printer) Emit(report any) error {
	v := reflect.New(reflect.TypeOf(report))
	v.Elem().Set(reflect.ValueOf(report))
	noNil(v)
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v.Interface()); err != nil {
		return err
	}
	_, err := u.Out.Write(diag.EscapeJSON(text.Bytes()))
	return err
}

// noNil makes every list of a report that is nil an empty one: [] in JSON.
func noNil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			noNil(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() || v.Type().Field(i).Anonymous {
				noNil(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			noNil(v.Index(i))
		}
	}
}

// HooksOff tells of hooks that a person turned off.
type HooksOff struct {
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}
