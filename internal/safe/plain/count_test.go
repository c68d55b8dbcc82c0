package plain_test

import (
	"testing"

	"scv/internal/safe/plain"
)

func TestCount(t *testing.T) {
	for _, tc := range []struct {
		n          uint32
		noun, want string
	}{
		{0, "file", "0 files"},
		{1, "file", "1 file"},
		{2, "blocking finding", "2 blocking findings"},
		{1, "sound copy", "1 sound copy"},
		{3, "sound copy", "3 sound copies"},
		{2, "day", "2 days"},
		{2, "y", "2 ys"},
	} {
		if got := plain.Count(tc.n, tc.noun); got != tc.want {
			t.Errorf("%d of %q is %q, want %q", tc.n, tc.noun, got, tc.want)
		}
	}
}
