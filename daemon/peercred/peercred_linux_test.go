package peercred_test

import (
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/internal/must"
)

// connect returns the accepting side of a connection from this process.
func connect(t *testing.T, network, address string) net.Conn {
	t.Helper()
	l := must.Get(net.Listen(network, address))(t)
	t.Cleanup(func() { _ = l.Close() })
	c := must.Get(net.Dial(network, l.Addr().String()))(t)
	t.Cleanup(func() { _ = c.Close() })
	accepted := must.Get(l.Accept())(t)
	t.Cleanup(func() { _ = accepted.Close() })
	return accepted
}

func TestAUnixSocketTellsWhoConnected(t *testing.T) {
	got := peercred.Of(connect(t, "unix", filepath.Join(t.TempDir(), "s")))
	want := peercred.Credentials{Known: true, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), PID: int32(os.Getpid())}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNobodyIsKnownElsewhere(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close() // it has nothing to lose
	defer far.Close()  // it has nothing to lose
	if got := peercred.Of(near); got != (peercred.Credentials{}) {
		t.Errorf("a %T is known to be %+v", near, got)
	}
}

// A peer keeps its address, and its user with it, when another process goes on.
func TestTCPTellsThePeersAddress(t *testing.T) {
	got := peercred.Of(connect(t, "tcp", "127.0.0.1:0"))
	if want := (peercred.Credentials{Address: netip.MustParseAddr("127.0.0.1")}); got != want || got.User() != "127.0.0.1" {
		t.Errorf("got %+v, want %+v", got, want)
	}
	text := must.Get(json.Marshal(got))(t)
	var again peercred.Credentials
	if err := json.Unmarshal(text, &again); err != nil || again != got || peercred.Number(again.Address) != peercred.Number(got.Address) {
		t.Errorf("%s became %+v (%v)", text, again, err)
	}
	if other := netip.MustParseAddr("127.0.0.2"); peercred.Number(other) == peercred.Number(got.Address) {
		t.Error("two addresses have one number")
	}
}
