// Package machine tells which servers run on this machine.
package machine

import (
	"context"
	"net"
	"net/netip"
	"slices"
)

// Own reports whether an address is one of this machine's. If those cannot be read, every address
// counts as one.
func Own(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(all, func(of net.Addr) bool {
		network, ok := of.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(network.IP)
		return ok && own.Unmap() == a
	})
}

// Serves reports whether the host of a server, which is host:port, has an address of which own is
// true. A name is looked up; own gets IPv4 addresses as such and all without a zone.
func Serves(ctx context.Context, server string, own func(netip.Addr) bool) (bool, error) {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return false, err
	}
	if host == "" {
		host = "localhost" // which is where it is dialed
	}
	addresses := make([]netip.Addr, 1)
	if addresses[0], err = netip.ParseAddr(host); err != nil {
		if addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return false, err
		}
	}
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool { return own(a.Unmap().WithZone("")) }), nil
}
