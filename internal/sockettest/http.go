package sockettest

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// HTTP is a client of a socket, of HTTP/2 without TLS if two is true. Connections that it does not
// use end with the test.
func HTTP(t testing.TB, socket string, two bool) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	transport.Protocols.SetHTTP1(!two)
	transport.Protocols.SetUnencryptedHTTP2(two)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Ask returns the reply to a request with these header fields, names and values in turn, and its
// whole body.
func Ask(t testing.TB, c *http.Client, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, url, nil))(t)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	reply := must.Get(c.Do(r))(t)
	defer reply.Body.Close() // it has been read
	return reply, string(must.Get(io.ReadAll(reply.Body))(t))
}
