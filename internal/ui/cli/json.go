package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// A jsonFlag is --json of one command: all fields, --json=a,b for some, --json=help for their names; and --jq and
// --template, which make something else of the same.
type jsonFlag struct {
	text     string
	template string
	shape    reflect.Type
	layout   layout // of template
	jq       filter
}

const allFields = "true"

// addJSON gives a command --json for values of one type.
func addJSON[T any](cmd *cobra.Command, flag *jsonFlag) {
	flag.shape = reflect.TypeFor[T]()
	cmd.Flags().Var(flag, "json", "print JSON; =a,b picks fields, =help lists them")
	cmd.Flags().Lookup("json").NoOptDefVal = allFields
	cmd.Flags().StringVar(&flag.jq.expr, "jq", "", "give the JSON to the program jq, such as '.[].job'")
	cmd.Flags().StringVar(&flag.template, "template", "", "print a text a value, such as '{job} {state}'")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return flag.jq.finish(run(cmd, args)) }
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := flag.check(cmd); err != nil {
			return err
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

// String, Set and Type make it a flag that may stand without a value.
func (j *jsonFlag) String() string { return j.text }

// Set takes the chosen fields.
func (j *jsonFlag) Set(text string) error {
	j.text = text
	return nil
}

// Type is that of a flag whose value is optional.
func (j *jsonFlag) Type() string { return "bool" }

func (j *jsonFlag) on() bool { return j.text != "" }

// helps reports that only the names of the fields were asked for, and prints them.
func (j *jsonFlag) helps(out io.Writer) bool {
	if j.text != "help" {
		return false
	}
	for _, name := range fieldNames(j.shape) {
		fmt.Fprintln(out, name)
	}
	return true
}

func (j *jsonFlag) check(cmd *cobra.Command) error {
	known := fieldNames(j.shape)
	for _, name := range j.chosen() {
		if !slices.Contains(known, name) {
			return usage("choose from: "+strings.Join(known, ","), "%s has no field %q", cmd.CommandPath(), name)
		}
	}
	if j.template == "" && j.jq.expr == "" {
		return nil
	}
	if j.template != "" && j.jq.expr != "" {
		return usage("leave one of them out", "--jq and --template both say what is printed")
	}
	if j.text == "" {
		j.text = allFields
	}
	var err error
	if j.layout, err = parseLayout(j.template, known); err != nil {
		return err
	}
	return j.jq.check()
}

func (j *jsonFlag) chosen() []string {
	if j.text == "" || j.text == allFields || j.text == "help" {
		return nil
	}
	return strings.Split(j.text, ",")
}

// print writes one value as one line.
func (j *jsonFlag) print(out io.Writer, v any) error {
	if j.template != "" {
		return j.fill(out, v)
	}
	data, err := j.encode(v)
	if err != nil {
		return err
	}
	line := append(escape(data), '\n')
	if j.jq.expr != "" {
		return j.jq.write(out, line)
	}
	_, err = out.Write(line)
	return err
}

// fill writes the template, of a list once for each of its values.
func (j *jsonFlag) fill(out io.Writer, v any) error {
	data, err := compact(v)
	if err != nil {
		return err
	}
	all := []json.RawMessage{data}
	if reflect.ValueOf(v).Kind() == reflect.Slice {
		if err := json.Unmarshal(data, &all); err != nil {
			return err
		}
	}
	for _, one := range all {
		text, err := j.layout.render(one)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonFlag) encode(v any) ([]byte, error) {
	data, err := compact(v)
	if err != nil || len(j.chosen()) == 0 {
		return data, err
	}
	list := reflect.ValueOf(v).Kind() == reflect.Slice
	var all []map[string]json.RawMessage
	if list {
		err = json.Unmarshal(data, &all)
	} else {
		all = make([]map[string]json.RawMessage, 1)
		err = json.Unmarshal(data, &all[0])
	}
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, 0, len(all))
	for _, one := range all {
		parts = append(parts, j.pick(one))
	}
	if !list {
		return parts[0], nil
	}
	return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]")), nil
}

// pick keeps the chosen fields in their asked order; one that the value lacks is null.
func (j *jsonFlag) pick(one map[string]json.RawMessage) []byte {
	b := []byte("{")
	for i, name := range j.chosen() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, '"'), name...)
		b = append(b, '"', ':')
		if value, ok := one[name]; ok {
			b = append(b, value...)
		} else {
			b = append(b, "null"...)
		}
	}
	return append(b, '}')
}

func compact(v any) ([]byte, error) {
	if value := reflect.ValueOf(v); value.Kind() == reflect.Slice && value.IsNil() {
		return []byte("[]"), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// escape writes what a terminal could act on as \u escapes: DEL, C1, bidi controls and what shows nothing. In JSON
// such characters stand in strings only.
func escape(data []byte) []byte {
	if !bytes.ContainsFunc(data, unsafe) {
		return data
	}
	out := make([]byte, 0, len(data)+16)
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if unsafe(r) {
			out = escapeRune(out, r)
		} else {
			out = append(out, data[:size]...)
		}
		data = data[size:]
	}
	return out
}

// escapeRune adds a character as JSON escapes it.
func escapeRune(out []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// fieldNames lists the JSON names of a struct, of a slice's elements, embedded ones included.
func fieldNames(t reflect.Type) []string {
	var out []string
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			out = append(out, fieldNames(field.Type)...)
		case name != "" && name != "-":
			out = append(out, name)
		}
	}
	return out
}
