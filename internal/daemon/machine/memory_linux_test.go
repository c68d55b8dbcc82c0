package machine

import "testing"

func TestParseMeminfo(t *testing.T) {
	tests := map[string]struct {
		in   string
		want uint64
		ok   bool
	}{
		"usual":    {"MemTotal: 10 kB\nMemFree: 1 kB\nMemAvailable:   2048 kB\n", 2048 << 10, true},
		"none":     {"MemTotal: 10 kB\n", 0, false},
		"empty":    {"MemAvailable:\n", 0, false},
		"nonsense": {"MemAvailable: much kB\n", 0, false},
	}
	for name, tt := range tests {
		if got, ok := parseMeminfo([]byte(tt.in)); got != tt.want && ok || ok != tt.ok {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
}
