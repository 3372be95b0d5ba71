package rest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/flakeward/flakeward/internal/must"
)

// held is a connection that is counted for.
type held struct {
	net.Conn
	bytes *atomic.Int64
}

func (h held) Hold(by int) { h.bytes.Add(int64(by)) }

// holding starts a site whose connections count what is kept for them together.
func holding(t *testing.T, change func(*Config)) (*site, *atomic.Int64) {
	var bytes atomic.Int64
	s := startBy(t, "twitter", change, func(h *http.Server) {
		meet := h.ConnContext
		h.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return meet(ctx, held{c, &bytes}) }
	})
	return s, &bytes
}

func untilHeld(t *testing.T, bytes *atomic.Int64, what string, is func(n int64) bool) {
	t.Helper()
	must.Soon(t, func() bool { return is(bytes.Load()) }, "%s are kept", what)
}

// A request of HTTP/2 counts for its connection with its header until it has ended, and one whose
// client goes as well.
func TestRequestsOfHTTP2CountForTheirConnection(t *testing.T) {
	const long = 10_000
	s, bytes := holding(t, nil)
	s.store.set(0, nil)
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", s.path) }}
	defer transport.CloseIdleConnections()
	transport.Protocols.SetUnencryptedHTTP2(true)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	for _, path := range []string{"/v1/ids", "/v1/runs", "/v1/ids?count=2"} {
		r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://f"+path, nil))(t)
		r.Header.Set("X", strings.Repeat("x", long))
		go func() {
			reply, err := transport.RoundTrip(r)
			if err == nil {
				_ = reply.Body.Close()
			}
			ended <- err
		}()
	}
	untilHeld(t, bytes, "those of three requests", func(n int64) bool { return n >= 3*(streamBytes+long) && n < 3*(streamBytes+2*long) })
	leave()
	for range 3 {
		<-ended
	}
	untilHeld(t, bytes, "none", func(n int64) bool { return n == 0 })
}

// So does one of HTTP/1 that has many fields, each of which takes more than its bytes.
func TestAHeaderOfManyFieldsCountsForItsConnection(t *testing.T) {
	const fields = 500
	s, bytes := holding(t, nil)
	s.store.set(0, nil)
	c := must.Get(net.Dial("unix", s.path))(t)
	must.Get(io.WriteString(c, "GET /v1/ids HTTP/1.1\r\nHost: f\r\n"+strings.Repeat("a:\r\n", fields)+"\r\n"))(t)
	untilHeld(t, bytes, "those of its fields", func(n int64) bool { return n >= fields*fieldBytes })
	must.Do(t, c.Close())
	untilHeld(t, bytes, "none", func(n int64) bool { return n == 0 })
}

// A client of HTTP/2 that takes nothing of what it is sent is left after as long as one that takes
// no reply: nobody else could tell it to go meanwhile, and so a stop would wait for it.
func TestAClientThatTakesNothingIsLeft(t *testing.T) {
	if got := start(t, "twitter", nil).server.serving(1).HTTP2.WriteByteTimeout; got != replyTimeout {
		t.Errorf("it is left after %v, want %v", got, replyTimeout)
	}
}

// So does a large reply that its client does not take, of HTTP/1 as well.
func TestALargeReplyCountsForItsConnection(t *testing.T) {
	for _, accept := range []string{"application/json", "text/plain"} {
		s, bytes := holding(t, nil)
		c := must.Get(net.Dial("unix", s.path))(t)
		must.Get(io.WriteString(c, "GET /v1/ids?count=65536 HTTP/1.1\r\nHost: f\r\nAccept: "+accept+"\r\n\r\n"))(t)
		untilHeld(t, bytes, "a reply", func(n int64) bool { return n > 65536*5 && n < 65536*60 })
		reply, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, reply.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		untilHeld(t, bytes, "none", func(n int64) bool { return n == 0 })
		_ = c.Close()
	}
}

// What a connection of HTTP/2 may have the server keep is what it is told: small frames, and little
// that is sent ahead.
func TestAConnectionOfHTTP2IsToldItsLimits(t *testing.T) {
	s := start(t, "twitter", nil)
	c := must.Get(net.Dial("unix", s.path))(t)
	defer c.Close() // it has nothing to lose
	in := http2.NewFramer(c, c)
	must.Get(io.WriteString(c, http2.ClientPreface))(t)
	must.Do(t, in.WriteSettings())
	f := must.Get(in.ReadFrame())(t)
	settings := f.(*http2.SettingsFrame)
	for id, want := range map[http2.SettingID]uint32{
		http2.SettingMaxFrameSize: 16 << 10, http2.SettingInitialWindowSize: 64 << 10, http2.SettingMaxConcurrentStreams: 100,
	} {
		if got, ok := settings.Value(id); !ok || got != want {
			t.Errorf("%v is %d, want %d", id, got, want)
		}
	}
	must.Do(t, in.WritePing(false, [8]byte{}))
	for ahead := 65535; ; { // as HTTP/2 has it at the beginning
		f := must.Get(in.ReadFrame())(t)
		if w, ok := f.(*http2.WindowUpdateFrame); ok && w.StreamID == 0 {
			if ahead += int(w.Increment); ahead > 64<<10 {
				t.Errorf("%d bytes may be sent ahead", ahead)
			}
		}
		if f.Header().Type == http2.FramePing {
			return
		}
	}
}
