package proc

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
)

// TestT9_WhereProcessesListen: each socket of a process that waits for connections is told, with its address, as long as
// it does; connections and sockets of others are not.
func TestT9_WhereProcessesListen(t *testing.T) {
	self, err := Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	told := func() (all []netip.AddrPort) {
		t.Helper()
		ports, err := Listening([]Process{{PID: 1 << 30}, self})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ports {
			if p.PID != self.PID || p.Name != self.Name {
				t.Errorf("%+v", p)
			}
			all = append(all, p.Addr)
		}
		return all
	}
	until := func(what string, ok func(seen []netip.AddrPort) bool) { // one look may miss one
		t.Helper()
		for seen := told(); !ok(seen); seen = told() {
			if t.Context().Err() != nil {
				t.Fatalf("never %s: %v", what, seen)
			}
		}
	}
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil && at == "[::1]:0" {
			continue // there is no IPv6 here
		} else if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().(*net.TCPAddr).AddrPort()
		addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
		c, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		until("told alone", func(seen []netip.AddrPort) bool {
			if slices.Contains(seen, netip.MustParseAddrPort(c.LocalAddr().String())) {
				t.Errorf("a connection is told: %v", seen)
			}
			return len(seen) == 1 && (seen[0] == addr || at == "0.0.0.0:0" && seen[0].Addr().IsUnspecified())
		})
		if err := errors.Join(c.Close(), l.Close()); err != nil {
			t.Fatal(err)
		}
		until("forgotten", func(seen []netip.AddrPort) bool { return len(seen) == 0 })
	}
	if ports, err := Listening(nil); err != nil || len(ports) != 0 {
		t.Errorf("of nobody: %v %v", ports, err)
	}
}
