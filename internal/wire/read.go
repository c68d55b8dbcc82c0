package wire

import (
	"errors"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

func readRaw(d *decoder, v reflect.Value) error {
	d.space()
	start := d.at
	if err := d.skip(); err != nil {
		return err
	}
	v.SetBytes(slices.Clone(d.data[start:d.at]))
	return nil
}

func readCommand(d *decoder, v reflect.Value) error {
	action, err := d.tag("action")
	if err != nil {
		return err
	}
	command, err := decodeCommand(d, action)
	if err != nil {
		return err
	}
	v.Set(reflect.ValueOf(command))
	return nil
}

func readState(d *decoder, v reflect.Value) error {
	text, err := d.text()
	if err != nil {
		return err
	}
	for s := range AgentState(AgentStates) {
		if s.String() == string(text) {
			v.SetUint(uint64(s))
			return nil
		}
	}
	v.SetUint(uint64(StateUnknown))
	return nil
}

func readWord(w words) reader {
	return func(d *decoder, v reflect.Value) error {
		text, err := d.text()
		if err != nil {
			return err
		}
		for _, word := range w.list {
			if word == string(text) {
				v.SetString(word)
				return nil
			}
		}
		if !w.open {
			return d.errorf("%.40q is none of %s", text, strings.Join(w.list, ", "))
		}
		v.SetString(unknownWord)
		return nil
	}
}

func readString(d *decoder, v reflect.Value) error {
	text, err := d.text()
	if err == nil {
		v.SetString(string(text))
	}
	return err
}

func readBool(d *decoder, v reflect.Value) error {
	b, err := d.bool()
	v.SetBool(b)
	return err
}

func readUint(bits int) reader {
	return func(d *decoder, v reflect.Value) error {
		n, err := d.uint(bits)
		v.SetUint(n)
		return err
	}
}

func readFloat(d *decoder, v reflect.Value) error {
	f, err := d.float()
	v.SetFloat(f)
	return err
}

func readPointer(t reflect.Type) reader {
	read := readerOf(t.Elem())
	return func(d *decoder, v reflect.Value) error {
		p := reflect.New(t.Elem())
		if err := read(d, p.Elem()); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
}

func readSlice(t reflect.Type) reader {
	read := readerOf(t.Elem())
	return func(d *decoder, v reflect.Value) error {
		n := 0
		err := d.array(func() error {
			if n >= v.Cap() {
				v.Grow(1)
			}
			v.SetLen(n + 1)
			n++
			return inside(read(d, v.Index(n-1)), strconv.Itoa(n-1))
		})
		if err == nil && n == 0 {
			v.Set(reflect.MakeSlice(t, 0, 0))
		}
		return err
	}
}

func readArray(t reflect.Type) reader {
	read := readerOf(t.Elem())
	return func(d *decoder, v reflect.Value) error {
		n := 0
		err := d.array(func() error {
			if n == t.Len() {
				return d.errorf("the array has more than %d parts", t.Len())
			}
			n++
			return read(d, v.Index(n-1))
		})
		if err == nil && n < t.Len() {
			err = d.errorf("the array has fewer than %d parts", t.Len())
		}
		return err
	}
}

// readMap reads an object of any names; of a name that comes twice the last one counts.
func readMap(t reflect.Type) reader {
	read := readerOf(t.Elem())
	return func(d *decoder, v reflect.Value) error {
		m := reflect.MakeMap(t)
		err := d.object(func(name []byte) error {
			key := string(name)
			value := reflect.New(t.Elem()).Elem()
			if err := read(d, value); err != nil {
				return inside(err, key)
			}
			m.SetMapIndex(reflect.ValueOf(key), value)
			return nil
		})
		v.Set(m)
		return err
	}
}

func readStruct(d *decoder, v reflect.Value) error { return readObject(d, v, "") }

// readObject reads a struct. The tag, if any, is one more known name, whose value was read before.
func readObject(d *decoder, v reflect.Value, tag string) error {
	p := planOf(v.Type())
	for _, i := range p.initial {
		v.FieldByIndex(p.fields[i].index).SetString(p.fields[i].initial)
	}
	var seen uint64
	tagSeen := false
	next := 0
	err := d.object(func(name []byte) error {
		if tag != "" && string(name) == tag {
			if tagSeen {
				return d.errorf("%s comes twice", tag)
			}
			tagSeen = true
			return d.skip()
		}
		i, known := p.find(name, next)
		if !known {
			return d.skip()
		}
		next = i + 1
		f := &p.fields[i]
		if seen&(1<<i) != 0 {
			return d.errorf("%s comes twice", f.name)
		}
		seen |= 1 << i
		if f.nullable && d.word("null") {
			return nil
		}
		return inside(f.read(d, v.FieldByIndex(f.index)), f.name)
	})
	if err != nil {
		return err
	}
	if missing := p.required &^ seen; missing != 0 {
		return inside(d.errorf("it is missing"), p.fields[bits.TrailingZeros64(missing)].name)
	}
	return nil
}

// find looks a name up, first where the order of writing would have it.
func (p *plan) find(name []byte, next int) (int, bool) {
	if next < len(p.fields) && p.fields[next].name == string(name) {
		return next, true
	}
	i, ok := p.byName[string(name)]
	return i, ok
}

// inside adds the name of the member or element that was being read to an error.
func inside(err error, name string) error {
	if e, ok := errors.AsType[*DecodeError](err); ok {
		if e.Path == "" {
			e.Path = name
		} else {
			e.Path = name + "." + e.Path
		}
	}
	return err
}
