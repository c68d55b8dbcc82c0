package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// reader fills v with the next value of the text.
type reader func(d *decoder, v reflect.Value) error

// field is how one member of an object is read.
type field struct {
	name     string
	index    []int
	required bool
	nullable bool
	initial  string // the word of a D=word field
	read     reader
}

// plan is how a struct is read. It is made once for each type and never changed.
type plan struct {
	fields   []field
	byName   map[string]int
	required uint64 // bit i for fields[i]
	initial  []int  // fields with a default that is not the zero value
}

// plans caches the plan of each struct type. It holds nothing but what the types themselves say, so the order
// in which it fills does not matter.
var plans = sync.OnceValue(func() *sync.Map { return new(sync.Map) }) // reflect.Type -> *plan

type wireDecoder interface{ decodeWire(d *decoder) error }

func planOf(t reflect.Type) *plan {
	if p, ok := plans().Load(t); ok {
		return p.(*plan)
	}
	p := &plan{byName: map[string]int{}}
	p.add(t, nil)
	if len(p.fields) > 64 {
		panic(fmt.Sprintf("wire: %v has more than 64 fields", t))
	}
	for i, f := range p.fields {
		p.byName[f.name] = i
		if f.required {
			p.required |= 1 << i
		}
		if f.initial != "" {
			p.initial = append(p.initial, i)
		}
	}
	kept, _ := plans().LoadOrStore(t, p)
	return kept.(*plan)
}

// add appends the fields of t; those of an embedded struct stand in the same object.
func (p *plan) add(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(slices.Clone(prefix), i)
		if sf.Anonymous {
			p.add(sf.Type, index)
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" {
			panic(fmt.Sprintf("wire: %v.%s has no name", t, sf.Name))
		}
		need, initial, _ := strings.Cut(sf.Tag.Get("need"), "=")
		p.fields = append(p.fields, field{
			name:     name,
			index:    index,
			required: need == "" || need == "R",
			nullable: need == "O" || need == "N",
			initial:  initial,
			read:     readerOf(sf.Type),
		})
	}
}

// readerOf returns how a type is read. A struct's plan is looked up at each use, so types may hold themselves.
func readerOf(t reflect.Type) reader {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return readRaw
	case t == reflect.TypeFor[Command]():
		return readCommand
	case reflect.PointerTo(t).Implements(reflect.TypeFor[wireDecoder]()):
		return func(d *decoder, v reflect.Value) error { return v.Addr().Interface().(wireDecoder).decodeWire(d) }
	case t == reflect.TypeFor[AgentState]():
		return readState
	case t.Kind() == reflect.String && t.Implements(reflect.TypeFor[worded]()):
		return readWord(reflect.Zero(t).Interface().(worded).words())
	}
	switch t.Kind() {
	case reflect.String:
		return readString
	case reflect.Bool:
		return readBool
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return readUint(t.Bits())
	case reflect.Float64:
		return readFloat
	case reflect.Struct:
		return readStruct
	case reflect.Pointer:
		return readPointer(t)
	case reflect.Slice:
		return readSlice(t)
	case reflect.Array:
		return readArray(t)
	case reflect.Map:
		return readMap(t)
	default:
		panic(fmt.Sprintf("wire: no way to read %v", t))
	}
}
