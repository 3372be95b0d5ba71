package machine

import (
	"net"
	"net/netip"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// What is bound to an address of an interface is on this machine, and so is loopback; documentation
// addresses are nobody's.
func TestOwn(t *testing.T) {
	want := map[string]bool{
		"127.0.0.1": true, "127.8.9.10": true, "::1": true, "0.0.0.0": true, "::": true,
		"192.0.2.1": false, "2001:db8::1": false,
	}
	all := must.Get(net.InterfaceAddrs())(t)
	for _, a := range all {
		if network, ok := a.(*net.IPNet); ok {
			own, _ := netip.AddrFromSlice(network.IP)
			want[own.Unmap().String()] = true
		}
	}
	for text, own := range want {
		if got := Own(netip.MustParseAddr(text)); got != own {
			t.Errorf("%s is this machine's own: %v, want %v", text, got, own)
		}
	}
}

func TestServes(t *testing.T) {
	for server, own := range map[string]bool{
		"127.0.0.1:2379": true, "[::1]:2379": true, "[::ffff:127.0.0.1]:2379": true, "localhost:2379": true, ":2379": true,
		"192.0.2.1:2379": false, "[2001:db8::1]:2379": false, "[fe80::1%eth0]:2379": false,
	} {
		got, err := Serves(t.Context(), server, func(a netip.Addr) bool { return a.IsLoopback() })
		if err != nil || got != own {
			t.Errorf("%s is on this machine: %v, %v, want %v", server, got, err, own)
		}
	}
	for _, server := range []string{"host.invalid:2379", "no-port"} {
		if _, err := Serves(t.Context(), server, Own); err == nil {
			t.Errorf("%s: no error; it is not known where it is", server)
		}
	}
}
