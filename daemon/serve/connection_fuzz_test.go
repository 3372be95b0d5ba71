package serve_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// Whatever a connection sends, in two parts, and whatever dialect that is taken for: it ends once
// its client has ended it, and the next client gets an ID.
func FuzzConnection(f *testing.F) {
	for _, seed := range []string{
		"GET /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n", "GET /v1/ids?count=3 HTTP/1.1\r\nHost: f\r\nAccept: text/plain\r\n\r\nGET / HTTP/1.0\r\n\r\n",
		"POST /flakeward.v1.IdService/Next HTTP/1.1\r\nHost: f\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "*1\r\n$4\r\nNEXT\r\n", "NEXT 3\r\n", "\x16\x03\x01",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x0d\x01\x05\x00\x00\x00\x01\x82\x86\x41\x01f\x44\x06/livez",
	} {
		for _, at := range []uint16{0, 1, 16} {
			f.Add([]byte(seed), at)
		}
	}
	d := daemontest.Start(f, daemontest.Config(f.TempDir()))
	other := redis.NewClient(&redis.Options{Network: "unix", Addr: d.Config.Socket.Path, PoolSize: 1, MaxRetries: -1})
	f.Cleanup(func() { _ = other.Close() })
	f.Fuzz(func(t *testing.T, text []byte, at uint16) {
		conn := must.Get(net.Dial("unix", d.Config.Socket.Path))(t)
		defer conn.Close()                                // it has nothing to lose
		_ = conn.SetDeadline(time.Now().Add(time.Minute)) // by which a test that hangs fails
		cut := min(int(at), len(text))
		go func() { // its end may find the connection closed
			_, first := conn.Write(text[:cut])
			_, second := conn.Write(text[cut:])
			_ = errors.Join(first, second, conn.(*net.UnixConn).CloseWrite())
		}()
		var timeout net.Error
		if _, err := io.Copy(io.Discard, conn); errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatalf("the connection does not end after %q", text)
		}
		if _, err := other.Do(t.Context(), "NEXT").Int64(); err != nil {
			t.Fatalf("after %q another client gets %v", text, err)
		}
	})
}
