package daemon_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A connection of HTTP/2 that asks for nothing is told to go before it is closed, at a takeover and at a
// stop: what its client has sent until it hears that is answered.
func TestAnIdleHTTP2ConnectionIsToldToGo(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *running){
		"takeover": func(t *testing.T, d *running) {
			next := d.config
			next.Takeover = true
			start(t, next)
		},
		"stop": func(_ *testing.T, d *running) { go d.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, config(dir(t)))
			conn, err := net.Dial("unix", d.config.Socket.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
				t.Fatal(err)
			}
			frames := http2.NewFramer(conn, conn)
			if err := errors.Join(frames.WriteSettings(), ask(frames, 1)); err != nil {
				t.Fatal(err)
			}
			until := func(what string, is func(http2.Frame) bool) {
				t.Helper()
				for {
					f, err := frames.ReadFrame()
					if err != nil {
						t.Fatalf("%s has not come: %v", what, err)
					}
					if is(f) {
						return
					}
				}
			}
			ended := func(stream uint32) func(http2.Frame) bool {
				return func(f http2.Frame) bool {
					return f.Header().StreamID == stream && f.Header().Flags.Has(http2.FlagDataEndStream)
				}
			}
			until("a reply", ended(1))
			leave(t, d)
			until("GOAWAY", func(f http2.Frame) bool {
				g, is := f.(*http2.GoAwayFrame)
				return is && g.ErrCode == http2.ErrCodeNo && g.LastStreamID >= 3
			})
			if err := ask(frames, 3); err != nil { // as if it had been under way
				t.Fatal(err)
			}
			until("a reply after GOAWAY", ended(3))
		})
	}
}

// ask asks for an ID on a stream.
func ask(frames *http2.Framer, stream uint32) error {
	var block bytes.Buffer
	fields := hpack.NewEncoder(&block)
	for name, value := range map[string]string{":method": "GET", ":scheme": "http", ":path": "/v1/ids", ":authority": "f"} {
		if err := fields.WriteField(hpack.HeaderField{Name: name, Value: value}); err != nil {
			return err
		}
	}
	return frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
}
