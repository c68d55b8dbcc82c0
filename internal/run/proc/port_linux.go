package proc

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// listening is the state of a socket that waits for connections, in the tables of the kernel.
const listening = "0A"

// Listening returns which of the processes wait for connections over TCP in this process's network, and where. One that
// ends meanwhile, or that may not be looked into, is left out; and seldom one is missed, since the kernel's tables change
// while they are read.
func Listening(list []Process) ([]Port, error) {
	owners := map[string]Process{} // of sockets, by their number
	for _, p := range list {
		dir := "/proc/" + strconv.Itoa(p.PID) + "/fd"
		open, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, fd := range open {
			to, _ := os.Readlink(dir + "/" + fd.Name()) // it may be closed by now
			if number, is := strings.CutPrefix(to, "socket:["); is {
				owners[strings.TrimSuffix(number, "]")] = p
			}
		}
	}
	if len(owners) == 0 {
		return nil, nil
	}
	var ports []Port
	for _, table := range []string{"tcp", "tcp6"} {
		if err := readSockets("/proc/self/net/"+table, func(local, number string) {
			p, ours := owners[number]
			addr, ok := socketAddress(local)
			delete(owners, number) // a table that changes while it is read may have one twice
			if ours && ok {
				ports = append(ports, Port{Process: p, Addr: addr})
			}
		}); err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
			return ports, err
		}
	}
	return ports, nil
}

// readSockets gives take the address and the number of each socket of a table that waits for connections.
func readSockets(path string, take func(local, number string)) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("list sockets: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 9 && fields[3] == listening {
			take(fields[1], fields[9])
		}
	}
	return lines.Err()
}

// socketAddress reads an address as the kernel prints it: words of four bytes, each the other way round, and the port.
func socketAddress(text string) (netip.AddrPort, bool) {
	digits, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(digits)
	number, portErr := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || portErr != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}
