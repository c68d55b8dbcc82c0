package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestTagsAgree checks, for every type that a message can hold, that what encoding/json writes is what the
// decoder expects: the letter of `need` and the options of `json` say the same thing.
func TestTagsAgree(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, types := range []map[string]reflect.Type{clientTypes(), eventTypes(), commandTypes(), nouns()} {
		for _, rt := range types {
			checkTags(t, rt, seen)
		}
	}
	for _, body := range []ProjectBody{
		ProjectCreated{},
		ProjectStatusReply{},
		ProjectUpdated{},
		ProjectTaskAdded{},
		ProjectRunStarted{},
		ProjectEventsReply{},
		ProjectTasksReply{},
		ProjectReportReply{},
	} {
		checkTags(t, reflect.TypeOf(body), seen)
	}
	if len(seen) < 120 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

func checkTags(t *testing.T, rt reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	switch rt.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		checkTags(t, rt.Elem(), seen)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[rt] || rt == reflect.TypeFor[AttachColor]() || rt == reflect.TypeFor[ProjectResponse]() {
		return
	}
	seen[rt] = true
	if p := planOf(rt); len(p.byName) != len(p.fields) {
		t.Errorf("%v: two fields have one name", rt)
	}
	for f := range rt.Fields() {
		if !f.Anonymous {
			checkField(t, rt, f)
		}
		checkTags(t, f.Type, seen)
	}
}

func checkField(t *testing.T, rt reflect.Type, f reflect.StructField) {
	t.Helper()
	_, option, _ := strings.Cut(f.Tag.Get("json"), ",")
	need, _, _ := strings.Cut(f.Tag.Get("need"), "=")
	color := f.Type == reflect.TypeFor[AttachColor]()
	pointer := f.Type.Kind() == reflect.Pointer
	list := f.Type.Kind() == reflect.Slice && f.Type != reflect.TypeFor[json.RawMessage]()
	marshals := f.Type.Implements(reflect.TypeFor[json.Marshaler]())
	bad := false
	switch need {
	case "", "R", "D":
		bad = option != "" || pointer || list && !marshals
	case "O":
		bad = option != "omitzero" || !pointer && !color
	case "N":
		bad = option != "" || !pointer
	case "K":
		textual := list || f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Map
		bad = pointer || textual && option != "omitempty" || !textual && option != "omitzero"
	default:
		bad = true
	}
	if bad {
		t.Errorf("%v.%s: %s does not go with its type", rt, f.Name, f.Tag)
	}
}

func TestEnumsReadTheirWords(t *testing.T) {
	for _, v := range enums() {
		name := reflect.TypeOf(v).Name()
		enum, ok := v.(worded)
		if !ok {
			continue // AgentState, see TestStateWords
		}
		words := enum.words()
		for _, word := range words.list {
			text := `"` + word + `"`
			if out, err := through(name, []byte(text)); err != nil || string(out) != text {
				t.Errorf("%s: %s reads as %s, %v", name, text, out, err)
			}
		}
		for _, odd := range []string{`"zz"`, `""`, strings.ToUpper(`"` + words.list[0] + `"`)} {
			out, err := through(name, []byte(odd))
			if words.open != (err == nil) || words.open && string(out) != `"unknown"` {
				t.Errorf("%s: %s reads as %s, %v", name, odd, out, err)
			}
		}
		for _, bad := range []string{`null`, `1`, `{}`, `[]`, `true`} {
			if out, err := through(name, []byte(bad)); err == nil {
				t.Errorf("%s: %s reads as %s", name, bad, out)
			}
		}
	}
}
