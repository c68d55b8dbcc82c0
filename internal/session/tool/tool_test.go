package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
)

func TestDecode_RefusesWhatModelsGetWrong(t *testing.T) {
	type arguments struct {
		Path  string `json:"path"`
		Limit int    `json:"limit"`
	}
	for _, c := range []struct{ args, want, why string }{
		{``, "", ""},
		{` {} `, "", ""},
		{`{"path":"a.go","limit":3}`, "a.go", ""},
		{`{"path":"a.go"`, "", "cannot be read"},
		{`{"file":"a.go"}`, "", `unknown field "file"`},
		{`{"path":3}`, "", "cannot be read"},
		{`{"path":"a"}{"path":"b"}`, "", "More follows"},
		{`null`, "", ""},
	} {
		var got arguments
		err := Decode(json.RawMessage(c.args), &got)
		f, refused := errors.AsType[*Failure](err)
		switch {
		case c.why == "" && (err != nil || got.Path != c.want):
			t.Errorf("%q: %+v, %v", c.args, got, err)
		case c.why != "" && (!refused || f.Kind != wire.ToolInvalidArguments || !strings.Contains(f.Sentence, c.why)):
			t.Errorf("%q: %v, want %q", c.args, err, c.why)
		}
	}
}

func TestFailed_KeepsTheKind(t *testing.T) {
	for _, c := range []struct {
		err  error
		want wire.ToolErrorKind
	}{
		{&Failure{wire.ToolLimit, "too much"}, wire.ToolLimit},
		{fmt.Errorf("read: %w", context.Canceled), wire.ToolCancelled},
		{errors.New("no"), wire.ToolErrorFailed},
	} {
		if got := Failed(c.err); got.Error != c.want || got.Text == "" {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}
