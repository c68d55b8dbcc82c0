package plain

import (
	"math"
	"testing"
)

func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 10188: "9.9 KiB", 10240: "10 KiB", 1<<20 - 1: "1.0 MiB", 5 << 30: "5.0 GiB", math.MaxUint64: "16 EiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
