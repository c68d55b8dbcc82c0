package web

import (
	"fmt"
	"net/netip"
	"syscall"
)

// special are the ranges that are not the public internet (the registries of special-purpose addresses), beyond those
// that netip knows by itself. The last ones carry an IPv4 address inside, which may be any.
func special() []netip.Prefix {
	var list []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "::/96", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
		"64:ff9b::/96", "64:ff9b:1::/48", "2002::/16",
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range special() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// control refuses a connection to an address that is not public. It sees what is really dialled, after every name was
// looked up, so a name that changes its address between a check and the connection gains nothing.
func control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s is no address", address)
	}
	if !public(at.Addr()) {
		return &privateError{at.Addr()}
	}
	return nil
}

// A privateError is an address that must not be asked.
type privateError struct{ address netip.Addr }

func (e *privateError) Error() string { return e.address.String() + " is not a public address" }
