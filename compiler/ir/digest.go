package ir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
)

// Digest returns a short hash of everything that decides about a subject: 16 hexadecimal
// digits. Texts for people and places in the source do not change it, and nor do other
// roles, or for a mode other modes. A hook's line has it, so that the hook refuses where
// somebody edited the policy file.
func (p *Project) Digest(ref SubjectRef) string {
	d := *p.Decisions()
	d.Name, d.SourceHash = "", ""
	d.Roles = slices.DeleteFunc(slices.Clone(d.Roles), func(r Role) bool { return r.Name != ref.Role })
	if ref.Role == "" {
		d.Modes = slices.DeleteFunc(slices.Clone(d.Modes), func(m Mode) bool { return m.Slug != ref.Mode })
		d.Baseline = ""
	}
	h := sha256.New()
	digest(h, reflect.ValueOf(d))
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// digest writes a value into a hash, without the places in it and what JSON leaves out.
func digest(h hash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		fmt.Fprintf(h, "*%t", !v.IsNil())
		if !v.IsNil() {
			digest(h, v.Elem())
		}
	case reflect.Slice:
		fmt.Fprintf(h, "[%d", v.Len())
		for i := range v.Len() {
			digest(h, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		fmt.Fprintf(h, "{%d", len(keys))
		for _, k := range keys {
			digest(h, k)
			digest(h, v.MapIndex(k))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Type != reflect.TypeFor[diag.Pos]() && f.Tag.Get("json") != "-" {
				fmt.Fprintf(h, ";%d", i)
				digest(h, v.Field(i))
			}
		}
	case reflect.String:
		fmt.Fprintf(h, "%d:%s", v.Len(), v.String())
	default:
		fmt.Fprintf(h, "=%v", v)
	}
}
