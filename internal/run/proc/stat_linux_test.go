package proc

import "testing"

func TestStatLines(t *testing.T) {
	const rest = " S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2"
	for name, line := range map[string]string{
		"plain": "12 (sh)" + rest, "spaces": "12 (tmux: server)" + rest, "brackets": "12 (a) R 1 (b)" + rest,
	} {
		p, err := parseStat([]byte(line))
		if err != nil || p.PID != 12 || p.PPID != 7 || p.PGID != 8 || p.Start != 4242 || p.Zombie {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
	if p, err := parseStat([]byte("12 (sh) Z" + rest[2:])); err != nil || !p.Zombie {
		t.Errorf("%+v %v", p, err)
	}
	for _, line := range []string{"", "12", "12 (sh", "12 (sh) S 1", "x (sh)" + rest, ")(", "12 (sh) S x 8 9 0 -1 1 1 2 3 4 5 6 7 8 20 0 1 0 4242"} {
		if p, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q: %+v", line, p)
		}
	}
}
