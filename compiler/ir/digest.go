package ir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/diag"
)

// Digest returns a short hash of everything that decides about a subject: 16 hexadecimal
// digits. Texts for people and places in the source do not change it, and nor do other
// roles, or for a mode other modes. A hook's line has it, so that the hook refuses where
// somebody edited the policy file.
func (p *Project) Digest(ref SubjectRef) string { return p.Digests()(ref) }

// DigestOfAll returns such a hash of everything that decides about all subjects, also who has which role.
func (p *Project) DigestOfAll() string {
	h := sha256.New()
	digest(h, reflect.ValueOf(p.deciding()))
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// deciding returns what decides, in an order that does not depend on the source's.
func (p *Project) deciding() Project {
	decisions := *p.Decisions()
	decisions.Name = ""
	// What a gateway has follows from the rest.
	decisions.Servers = slices.DeleteFunc(decisions.Servers, func(s Server) bool { return s.Gateway != nil })
	decisions.Sort() // by name: it has no order
	return decisions
}

// Digests returns [Project.Digest] for many subjects: what they have in common is read once.
func (p *Project) Digests() func(SubjectRef) string {
	decisions := p.deciding()
	modes := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		digest(&b, reflect.ValueOf(decisions.Modes))
		return b.Bytes()
	})
	return func(ref SubjectRef) string {
		d, h := decisions, sha256.New()
		d.Roles, d.Modes = nil, nil
		if i := slices.IndexFunc(decisions.Roles, func(r Role) bool { return r.Name == ref.Role }); i >= 0 {
			d.Roles = decisions.Roles[i : i+1]
		}
		if ref.Role == "" {
			d.Baseline = ""
			if i := slices.IndexFunc(decisions.Modes, func(m Mode) bool { return m.Slug == ref.Mode }); i >= 0 {
				d.Modes = decisions.Modes[i : i+1]
			}
		}
		digestStruct(h, reflect.ValueOf(d), func(field string) []byte {
			if field == "Modes" && ref.Role != "" {
				return modes()
			}
			return nil
		})
		return hex.EncodeToString(h.Sum(nil))[:16]
	}
}

// digest writes a value into a hash, without the places in it and what JSON leaves out.
func digest(h io.Writer, v reflect.Value) {
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
		digestStruct(h, v, func(string) []byte { return nil })
	case reflect.String:
		fmt.Fprintf(h, "%d:%s", v.Len(), v.String())
	default:
		fmt.Fprintf(h, "=%v", v)
	}
}

// digestStruct does so for a struct, some fields of which are known.
func digestStruct(h io.Writer, v reflect.Value, known func(field string) []byte) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type == reflect.TypeFor[diag.Pos]() || f.Tag.Get("json") == "-" {
			continue
		}
		text := known(f.Name)
		// A field that a later modec adds changes nothing where it is unused.
		if text == nil && unused(v.Field(i), f.Tag) {
			continue
		}
		fmt.Fprintf(h, ";%s", f.Name)
		if text != nil {
			h.Write(text)
		} else {
			digest(h, v.Field(i))
		}
	}
}

// unused reports whether a field is as if it were not there: who reads the JSON of it finds nothing.
func unused(v reflect.Value, tag reflect.StructTag) bool {
	empty := v.Kind() == reflect.Map && v.Len() == 0
	return v.IsZero() || empty && strings.Contains(tag.Get("json"), ",omitempty")
}
