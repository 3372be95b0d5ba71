package daemon_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// A connection of HTTP/2 that asks for nothing is told to go before it is closed, at a takeover and
// at a stop: what its client has sent until it hears that is answered.
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
			h := dialHTTP2(t, d.config)
			h.ask(1)
			h.until("a reply", h.ended(1))
			leave(t, d)
			h.until("GOAWAY", func(f http2.Frame) bool {
				g, is := f.(*http2.GoAwayFrame)
				return is && g.ErrCode == http2.ErrCodeNo && g.LastStreamID >= 3
			})
			h.ask(3) // as if it had been under way
			h.until("a reply after GOAWAY", h.ended(3))
		})
	}
}

// A connection of HTTP/2 that always has a request under way is told to go with the next reply
// after a takeover: without that it would be cut off in the middle of one.
func TestABusyHTTP2ConnectionIsToldToGo(t *testing.T) {
	d := start(t, config(dir(t)))
	h := dialHTTP2(t, d.config)
	h.open(1)
	h.ask(3)
	h.until("a reply", h.ended(3))
	next := d.config
	next.Takeover = true
	startBy(t, next, runUntilTakenOver)
	const enough = 100 // replies, before the old process ends what is under way
	told := false
	for stream := uint32(5); !told; stream += 2 {
		if stream > 2*enough {
			t.Fatalf("%d replies came without GOAWAY", enough)
		}
		h.ask(stream)
		h.until("a reply or GOAWAY", func(f http2.Frame) bool {
			_, goes := f.(*http2.GoAwayFrame)
			told = told || goes
			return goes && stream > 5 || h.ended(stream)(f)
		})
	}
}

// From a user's thirty-third connection of HTTP/2 on, each may ask for 4 things at once, and not
// for 100.
func TestAUsersManyConnectionsOfHTTP2MayAskForLessAtOnce(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	next := func(want uint32) {
		t.Helper()
		settings := must.Get(dialHTTP2(t, d.Config).frames.ReadFrame())(t).(*http2.SettingsFrame)
		if got, _ := settings.Value(http2.SettingMaxConcurrentStreams); got != want {
			t.Fatalf("a connection may ask for %d things at once, want %d", got, want)
		}
	}
	for range 32 {
		next(100)
	}
	next(4)
}

// http2Client is a client of the daemon's socket that sees each frame.
type http2Client struct {
	t      *testing.T
	frames *http2.Framer
}

func dialHTTP2(t *testing.T, c daemon.Config) *http2Client {
	t.Helper()
	conn, err := net.Dial("unix", c.Socket.Path)
	must.Do(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	h := &http2Client{t, http2.NewFramer(conn, conn)}
	_, err = io.WriteString(conn, http2.ClientPreface)
	must.Do(t, errors.Join(err, h.frames.WriteSettings()))
	return h
}

// until reads frames until there is one that is meant.
func (h *http2Client) until(what string, is func(http2.Frame) bool) {
	h.t.Helper()
	for {
		f, err := h.frames.ReadFrame()
		if err != nil {
			h.t.Fatalf("%s: not before %v", what, err)
		}
		if is(f) {
			return
		}
	}
}

// ended tells the end of a stream's reply.
func (h *http2Client) ended(stream uint32) func(http2.Frame) bool {
	return func(f http2.Frame) bool {
		return f.Header().StreamID == stream && f.Header().Flags.Has(http2.FlagDataEndStream)
	}
}

// ask asks for an ID on a stream.
func (h *http2Client) ask(stream uint32) {
	h.t.Helper()
	h.request(stream, true, map[string]string{":method": "GET", ":path": "/v1/ids"})
}

// open begins a remote call whose messages do not come.
func (h *http2Client) open(stream uint32) {
	h.t.Helper()
	h.request(stream, false, map[string]string{":method": "POST", ":path": flakewardv1connect.IdServiceStreamProcedure, "content-type": "application/grpc", "te": "trailers"})
}

func (h *http2Client) request(stream uint32, ends bool, fields map[string]string) {
	h.t.Helper()
	var block bytes.Buffer
	to := hpack.NewEncoder(&block)
	fields[":scheme"], fields[":authority"] = "http", "f"
	for _, name := range slices.Sorted(maps.Keys(fields)) { // those with a colon come first
		must.Do(h.t, to.WriteField(hpack.HeaderField{Name: name, Value: fields[name]}))
	}
	must.Do(h.t, h.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: ends, EndHeaders: true}))
}
