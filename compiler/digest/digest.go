// Package digest identifies what decisions depend on. [Of] reads a value as a whole, unexported
// fields included, so that a field that somebody adds later changes the digest without anybody
// thinking of it. What it cannot read, such as a function, is an error and never left out.
package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"modec.dev/modec/compiler/diag"
)

// Sum is a digest.
type Sum [sha256.Size]byte

// Key is the digest of something, and the places in it. Lines and columns are no part of the sum,
// so that a line that is added above changes nothing.
type Key struct {
	Sum    Sum
	Places []diag.Pos // in the order in which they were read
}

// Join returns the digest of some digests in their order.
func Join(sums ...Sum) Sum {
	var few [12 * sha256.Size]byte // spares an allocation
	text := few[:0]
	for i := range sums {
		text = append(text, sums[i][:]...)
	}
	return sha256.Sum256(text)
}

// Text returns the digest of a text, which differs from any [Join].
func Text(text string) Sum { return sha256.Sum256([]byte("text " + text)) }

// JoinKeys returns the key of several things in their order.
func JoinKeys(keys ...Key) Key {
	var out Key
	var few [12]Sum
	sums := few[:0]
	for i := range keys {
		sums = append(sums, keys[i].Sum)
		out.Places = append(out.Places, keys[i].Places...)
	}
	out.Sum = Join(sums...)
	return out
}

// Known says what to read instead of values of some types: pointers, by their type. A function
// returns nil for a value that depends on nothing but what is read beside it.
type Known map[reflect.Type]func(pointer any) any

// For adds a type to those that are known.
func For[T any](known Known, read func(*T) any) {
	known[reflect.TypeFor[*T]()] = func(p any) any { return read(p.(*T)) }
}

// Of returns the key of a value. It fails for one that contains a function or a channel, and for
// one that contains itself.
func Of(value any, known Known) (Key, error) {
	r := reader{known: known}
	if err := r.value(reflect.ValueOf(&value).Elem(), 0); err != nil {
		return Key{}, err
	}
	return Key{sha256.Sum256(r.Bytes()), r.places}, nil
}

// reader writes values into a buffer, each so that no two values look alike.
type reader struct {
	bytes.Buffer
	known  Known
	places []diag.Pos
}

// deepest is how deep a value may be.
const deepest = 200

var errDeep = errors.New("a value that contains itself has no digest")

func (r *reader) number(n uint64) { r.Write(binary.AppendUvarint(r.AvailableBuffer(), n)) }

func (r *reader) text(s string) {
	r.number(uint64(len(s)))
	r.WriteString(s)
}

func (r *reader) bool(b bool) {
	if b {
		r.WriteByte(1)
	} else {
		r.WriteByte(0)
	}
}

func (r *reader) value(v reflect.Value, depth int) error {
	if depth > deepest {
		return errDeep
	}
	switch v.Kind() {
	case reflect.Bool:
		r.bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		r.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		r.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		r.number(math.Float64bits(v.Float()))
	case reflect.String:
		r.text(v.String())
	case reflect.Slice, reflect.Array:
		return r.list(v, depth)
	case reflect.Map:
		return r.mapped(v, depth)
	case reflect.Struct:
		return r.fields(v, depth)
	case reflect.Pointer, reflect.Interface:
		return r.pointed(v, depth)
	case reflect.Func:
		if !v.IsNil() {
			return fmt.Errorf("a %s has no digest", v.Type())
		}
		r.WriteByte(0)
	default:
		return fmt.Errorf("a %s has no digest", v.Type())
	}
	return nil
}

func (r *reader) list(v reflect.Value, depth int) error {
	if v.Kind() == reflect.Slice {
		r.bool(v.IsNil())
	}
	r.number(uint64(v.Len()))
	for i := range v.Len() {
		if err := r.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// mapped reads a map in the order of its keys, as they are written.
func (r *reader) mapped(v reflect.Value, depth int) error {
	type entry struct {
		key   []byte
		value reflect.Value
	}
	var entries []entry
	for of := v.MapRange(); of.Next(); {
		key := reader{known: r.known}
		if err := key.value(of.Key(), depth+1); err != nil {
			return err
		}
		entries = append(entries, entry{key.Bytes(), of.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	r.bool(v.IsNil())
	r.number(uint64(len(entries)))
	for _, e := range entries {
		r.Write(e.key)
		if err := r.value(e.value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

var (
	place  = reflect.TypeFor[diag.Pos]()
	passed = []reflect.Type{ // of what only saves work, or counts it
		reflect.TypeFor[sync.Mutex](), reflect.TypeFor[sync.Once](), reflect.TypeFor[atomic.Int32](),
	}
	expression = reflect.TypeFor[*regexp.Regexp]()
)

func (r *reader) fields(v reflect.Value, depth int) error {
	t := v.Type()
	if t == place {
		p := diag.Pos{File: v.Field(0).String(), Line: int(v.Field(1).Int()), Col: int(v.Field(2).Int())}
		r.text(p.File)
		r.bool(p.Line > 0)
		r.places = append(r.places, p)
		return nil
	}
	if slices.Contains(passed, t) {
		return nil
	}
	for i := range t.NumField() {
		if err := r.value(v.Field(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) pointed(v reflect.Value, depth int) error {
	r.bool(v.IsNil())
	if v.IsNil() {
		return nil
	}
	if v.Kind() == reflect.Interface {
		r.text(v.Elem().Type().String())
		return r.value(v.Elem(), depth+1)
	}
	switch read := r.known[v.Type()]; {
	case read != nil:
		of := read(reflect.NewAt(v.Type().Elem(), v.UnsafePointer()).Interface())
		return r.value(reflect.ValueOf(&of).Elem(), depth+1)
	case v.Type() == expression:
		r.text((*regexp.Regexp)(v.UnsafePointer()).String())
		return nil
	}
	return r.value(v.Elem(), depth+1)
}
