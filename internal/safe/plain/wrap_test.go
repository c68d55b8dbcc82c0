package plain

import (
	"slices"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		cells int
		want  []string
	}{
		{"", 10, []string{""}},
		{"short", 10, []string{"short"}},
		{"exactly ten", 11, []string{"exactly ten"}},
		{"the quick brown fox", 10, []string{"the quick", "brown fox"}},
		{"the quick  brown", 9, []string{"the quick", " brown"}},
		{"a verylongwordwithoutaspace", 10, []string{"a verylong", "wordwithou", "taspace"}},
		{"你好世界再见", 5, []string{"你好", "世界", "再见"}},
		{"ab你好", 3, []string{"ab", "你", "好"}},
		{"👩‍👩‍👧‍👧👩‍👩‍👧‍👧", 3, []string{"👩‍👩‍👧‍👧", "👩‍👩‍👧‍👧"}},
		{"你", 1, []string{"你"}},
	} {
		if got := Wrap(tt.text, tt.cells); !slices.Equal(got, tt.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.text, tt.cells, got, tt.want)
		}
	}
}

// FuzzWrap holds what every caller relies on: each part fits, and only spaces are left out.
func FuzzWrap(f *testing.F) {
	f.Add("the quick 你好 fox", 7)
	f.Add("é́́ x", 2)
	f.Fuzz(func(t *testing.T, s string, cells int) {
		s = Line(s)
		cells = 2 + max(cells, 0)%300
		parts := Wrap(s, cells)
		for _, p := range parts {
			if Width(p) > cells {
				t.Fatalf("part %q of %q is wider than %d", p, s, cells)
			}
		}
		if got, want := strings.ReplaceAll(strings.Join(parts, ""), " ", ""), strings.ReplaceAll(s, " ", ""); got != want {
			t.Fatalf("%q became %q", want, got)
		}
	})
}
