package keys

import (
	"strings"
	"testing"
)

func TestKeysAreGivenOtherKeys(t *testing.T) {
	bound := []string{"x", "n", "q", "ctrl-x", "s", "y", "enter"}
	r, err := NewRemap(map[string]string{"x": "f8", "n": "s", "s": "n", "sidebar_toggle": "ctrl-g"}, bound)
	if err != nil {
		t.Fatal(err)
	}
	for pressed, want := range map[string]string{"f8": "x", "x": "", "n": "s", "s": "n", "q": "q", "ctrl-g": "ctrl-g", "enter": "enter"} {
		if got := r.Means(pressed); got != want {
			t.Errorf("%s means %q, want %q", pressed, got, want)
		}
	}
	if r.Shown("x") != "f8" || r.Shown("q") != "q" || (Remap{}).Means("x") != "x" {
		t.Error("the help shows other keys")
	}
	const hint = "enter open  n N match  s x stop  space mark  type n to narrow"
	if got, want := r.Hint(hint), "enter open  s N match  n f8 stop  space mark  type n to narrow"; got != want || (Remap{}).Hint(hint) != hint {
		t.Errorf("the hint is %q, want %q", got, want)
	}
	_, err = NewRemap(map[string]string{"x": "q", "n": "hello", "s": "f5", "q": "f5", "ctrl-x": "y", "y": "f6", "z": "f7"}, bound)
	if err == nil {
		t.Fatal("conflicts were taken")
	}
	for _, want := range []string{
		`"hello" for n is no key`, "f5 cannot stand for both q and s", "y stays what it is, and cannot stand for ctrl-x", "y stays what it is",
		"z does nothing in the dashboard",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not tell %q", err, want)
		}
	}
	if _, err := NewRemap(map[string]string{"x": "q"}, bound); err == nil || !strings.Contains(err.Error(), "q means something already") {
		t.Errorf("a key in use was taken: %v", err)
	}
}
