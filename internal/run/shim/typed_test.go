package shim

import (
	"fmt"
	"testing"

	"scv/internal/run/control"
)

// typedBy says a request to typists and returns what came of it.
func typedBy(t *typists, key string, at uint64, text string) string {
	q := control.WriteRequest(0, key, []byte(text), false)
	q.At = at
	written := ""
	reply := t.take(&q, func(p []byte) control.Reply {
		if string(p) == "full" {
			return refuse(control.RefusedFull, "")
		}
		written += string(p)
		return control.Reply{Type: control.TypeOK}
	})
	return fmt.Sprintf("%s%s %d %q", reply.Type, reply.Class, reply.N, written)
}

// TestEachTypedByteIsTakenOnce: the same again, a part of it with more behind, and what follows a hole; each key by itself.
func TestEachTypedByteIsTakenOnce(t *testing.T) {
	var all typists
	for _, c := range []struct {
		key  string
		at   uint64
		text string
		want string
	}{
		{"a", 0, "one", `ok 3 "one"`},
		{"a", 0, "one", `done 3 ""`},
		{"a", 1, "n", `done 3 ""`},
		{"a", 0, "onetwo", `ok 6 "two"`},
		{"b", 0, "one", `ok 3 "one"`},
		{"a", 6, "full", `errorfull 0 ""`},
		{"a", 6, "then", `ok 10 "then"`},
		{"a", 20, "late", `ok 24 "late"`},
		{"a", 12, "hole", `done 24 ""`},
		{"a", 30, "", `done 24 ""`},
		{"c", 0, "", `done 0 ""`},
		{"", 0, "x", `errorbad 0 ""`},
		{"a", ^uint64(0), "x", `errorbad 0 ""`},
		{"a23456789 123456789 123456789 123456789 123456789 123456789 12345", 0, "x", `errorbad 0 ""`},
	} {
		if got := typedBy(&all, c.key, c.at, c.text); got != c.want {
			t.Errorf("%q at %d of %q: %s, want %s", c.text, c.at, c.key, got, c.want)
		}
	}
}

// TestThoseWhoTypedLastAreRemembered, however many others came.
func TestThoseWhoTypedLastAreRemembered(t *testing.T) {
	var all typists
	for i := range 3 * maxTypists {
		typedBy(&all, fmt.Sprint("other-", i), 0, "x")
		if got, want := typedBy(&all, "mine", uint64(i), "y"), fmt.Sprintf(`ok %d "y"`, i+1); got != want {
			t.Fatalf("after %d others: %s, want %s", i, got, want)
		}
	}
	if got := typedBy(&all, "mine", 0, "y"); got != fmt.Sprintf(`done %d ""`, 3*maxTypists) || len(all.all) != maxTypists {
		t.Errorf("%s, and %d are remembered", got, len(all.all))
	}
}
