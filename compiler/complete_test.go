package compiler_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets"
)

// Every field of the schema reaches the model, and nothing of the model is left
// without a field that fills it. Package shape tests that the sample writes them all.
func TestEveryFieldArrives(t *testing.T) {
	res, diags := compiler.Open(t.Context(), compiler.Request{Root: "testdata/everything", Targets: targets.All()})
	if res == nil {
		t.Fatal(diags)
	}
	filled := map[string]bool{}
	fill(reflect.ValueOf(res.Project), filled)
	ofViews := []string{"Project.Behind", "Server.Gateway", "Project.InFiles"} // of a target's view, or of hooks
	for _, name := range slices.Sorted(maps.Keys(filled)) {
		if !filled[name] && !slices.Contains(ofViews, name) {
			t.Errorf("nothing fills %s", name)
		}
	}
}

// fill notes for every field of the model whether any value of it is set.
func fill(v reflect.Value, filled map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), filled)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), filled)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			fill(v.MapIndex(k), filled)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[diag.Pos]() {
			return
		}
		for i := range v.NumField() {
			name := fmt.Sprintf("%s.%s", v.Type().Name(), v.Type().Field(i).Name)
			filled[name] = filled[name] || !v.Field(i).IsZero()
			fill(v.Field(i), filled)
		}
	}
}
