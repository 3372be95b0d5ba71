package rest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/flakeward/flakeward/internal/must"
)

// The limits of a header are those of docs/http.md.
func TestALongHeader(t *testing.T) {
	s := start(t, "twitter", nil)
	for fields, want := range map[[2]int]string{{15000, 1}: "200", {8000, 8000}: "200", {20480, 1}: "431", {12000, 12000}: "431"} {
		c := must.Get(net.Dial("unix", s.path))(t)
		text := fmt.Sprintf("GET /livez HTTP/1.1\r\nHost: f\r\nX: %s\r\nX: %s\r\n\r\n", strings.Repeat("x", fields[0]), strings.Repeat("x", fields[1]))
		go func() { _, _ = io.WriteString(c, text) }() // its end may find the connection closed
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 "+want) {
			t.Errorf("fields of %d bytes: %q (%v), want %s", fields, line, err, want)
		}
		_ = c.Close()
	}
	for fields, want := range map[[2]int]string{{15000, 1}: "200", {8000, 8000}: "200", {17000, 1}: "GOAWAY COMPRESSION_ERROR", {12000, 12000}: "431"} {
		c := must.Get(net.Dial("unix", s.path))(t)
		if got := askLong(t, c, fields); got != want {
			t.Errorf("HTTP/2, fields of %d bytes: %s, want %s", fields, got, want)
		}
		_ = c.Close()
	}
}

// askLong asks over HTTP/2 with two fields of so many bytes, and returns the status, or the error
// that ends the connection.
func askLong(t *testing.T, c net.Conn, fields [2]int) string {
	t.Helper()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "f"}, {":path", "/livez"}, {"x", strings.Repeat("x", fields[0])}, {"x", strings.Repeat("y", fields[1])}} {
		must.Do(t, enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	must.Get(io.WriteString(c, http2.ClientPreface))(t)
	framer := http2.NewFramer(c, c)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	must.Do(t, framer.WriteSettings())
	first, rest := block.Next(16<<10), block.Next(16<<10)
	must.Do(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: first, EndStream: true, EndHeaders: len(rest) == 0}))
	if len(rest) > 0 {
		must.Do(t, framer.WriteContinuation(1, true, rest))
	}
	for {
		frame, err := framer.ReadFrame()
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.GoAwayFrame:
			return "GOAWAY " + f.ErrCode.String()
		}
		if err != nil {
			return err.Error()
		}
	}
}
