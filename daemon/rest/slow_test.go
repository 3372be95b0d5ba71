package rest

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// Whoever sends no more of a request's header, or takes no more of a reply, loses the connection:
// neither is kept for ever.
func TestSlowClientsLoseTheirConnection(t *testing.T) {
	for name, text := range map[string]string{
		"half a header":         "GET /v1/ids HTTP/1.1\r\nHost: f\r\n",
		"half a body of a call": "POST /flakeward.v1.IdService/Next HTTP/1.1\r\nHost: f\r\nContent-Length: 20\r\n\r\n{",
		"half a form":           "POST /v1/ids HTTP/1.1\r\nHost: f\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 20\r\n\r\nc",
		"half a form, refused":  "POST /v1/ids?%zz HTTP/1.1\r\nHost: f\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 20\r\n\r\nc",
		"no reply is taken":     "GET /v1/ids?count=65536 HTTP/1.1\r\nHost: f\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			rpc := func(c *Config) {
				c.RPC = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
			}
			s := startBy(t, "twitter", rpc, func(h *http.Server) {
				h.ReadHeaderTimeout /= 50 // of what it is: without one, there is none here
				h.WriteTimeout /= 350
			})
			c := must.Get(net.Dial("unix", s.path))(t)
			defer c.Close() // it has nothing to lose
			must.Get(io.WriteString(c, text))(t)
			select {
			case <-s.ended:
			case <-time.After(20 * time.Second):
				t.Error("its connection is kept")
			}
		})
	}
}
