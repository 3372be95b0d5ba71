package etcd_test

import (
	"net"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// freeAddress returns an address on loopback where nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}
