package daemon_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// raw is a client of HTTP/2 that sends what it likes.
type raw struct {
	*http2.Framer
	conn net.Conn
}

// dialRaw connects, and has sent the preface and its settings.
func dialRaw(t *testing.T, d *daemontest.Daemon) *raw {
	t.Helper()
	conn, err := net.Dial("unix", d.Config.Socket.Path)
	must.Do(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	r := &raw{http2.NewFramer(conn, conn), conn}
	r.AllowIllegalWrites = true
	_, err = io.WriteString(conn, http2.ClientPreface)
	if err = errors.Join(err, r.WriteSettings()); err != nil {
		t.Fatal(err)
	}
	return r
}

// block is a header for a path, with more fields.
func block(method, path string, more ...hpack.HeaderField) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range append([]hpack.HeaderField{{Name: ":method", Value: method}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "f"}, {Name: ":path", Value: path}}, more...) {
		_ = e.WriteField(f) // to a buffer
	}
	return b.Bytes()
}

// bomb is a header of few bytes for a field of 4 kB, many times.
func bomb() []byte {
	var more []hpack.HeaderField
	for range 1000 {
		more = append(more, hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 3000)})
	}
	return block("GET", "/v1/ids", more...)
}

// others are clients that have done nothing wrong.
type others struct {
	redis *redis.Client
	web   *http.Client
}

func newOthers(t *testing.T, d *daemontest.Daemon) others {
	r := redis.NewClient(&redis.Options{Network: "unix", Addr: d.Config.Socket.Path, PoolSize: 1, MaxRetries: -1})
	t.Cleanup(func() { _ = r.Close() })
	return others{r, overSocket(t, d)}
}

// served has each of them take an ID.
func (o others) served(t *testing.T, when string) {
	t.Helper()
	if _, err := o.redis.Do(t.Context(), "NEXT").Int64(); err != nil {
		t.Errorf("%s, another client gets %v", when, err)
	}
	if reply, body := get(t, o.web, "/v1/ids"); reply.StatusCode != 200 {
		t.Errorf("%s, another client gets %s", when, body)
	}
}

func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// From a user's thirty-third connection of HTTP/2 on, each may ask for 4 things at once, and not for
// 100.
func TestAUsersManyConnectionsOfHTTP2MayAskForLessAtOnce(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	next := func(want uint32) {
		t.Helper()
		r := dialRaw(t, d)
		settings := must.Get(r.ReadFrame())(t).(*http2.SettingsFrame)
		if got, _ := settings.Value(http2.SettingMaxConcurrentStreams); got != want {
			t.Fatalf("a connection may ask for %d things at once, want %d", got, want)
		}
	}
	for range 32 {
		next(100)
	}
	next(4)
}

// While a client floods its connection, others get IDs, and the heap grows by little. What a
// connection would have to keep, it is closed for.
func TestFloodsOfHTTP2HurtNobodyElse(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	other := newOthers(t, d)
	other.served(t, "before")
	// A client that reads has fewer to send than net/http queues replies to, and a socket holds.
	const unread, read = 20_000, 4000
	open := func(r *raw) error {
		return r.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: block("POST", "/flakeward.v1.IdService/Stream",
			hpack.HeaderField{Name: "content-type", Value: "application/grpc"})})
	}
	request, bomb := block("GET", "/v1/ids"), bomb()
	late := block("POST", "/flakeward.v1.IdService/Next", hpack.HeaderField{Name: "content-type", Value: "application/grpc"})
	for name, flood := range map[string]struct {
		begin func(*raw) error
		send  func(r *raw, n uint32) error
		reads bool // the client reads what it is sent
		ends  bool // its connection is closed before all is sent
	}{
		"requests that are reset": {nil, func(r *raw, n uint32) error {
			return errors.Join(r.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, EndHeaders: true, EndStream: true, BlockFragment: request}),
				r.WriteRSTStream(2*n+1, http2.ErrCodeCancel))
		}, true, false},
		"requests that are reset before their body": {nil, func(r *raw, n uint32) error {
			return errors.Join(r.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, EndHeaders: true, BlockFragment: late}), r.WriteRSTStream(2*n+1, http2.ErrCodeCancel))
		}, true, false},
		"requests that are reset by a wrong window": {nil, func(r *raw, n uint32) error { // the server resets these
			return errors.Join(r.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, EndHeaders: true, BlockFragment: late}), r.WriteWindowUpdate(2*n+1, 0))
		}, false, true},
		"more requests than streams": {nil, func(r *raw, n uint32) error {
			return r.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, EndHeaders: true, BlockFragment: late})
		}, false, true},
		"settings": {nil, func(r *raw, n uint32) error {
			return r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: n})
		}, false, false},
		"settings, read": {nil, func(r *raw, n uint32) error {
			return r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: n})
		}, true, false},
		"answers to no settings": {nil, func(r *raw, _ uint32) error { return r.WriteSettingsAck() }, true, true},
		"pings":                  {nil, func(r *raw, _ uint32) error { return r.WritePing(false, [8]byte{}) }, false, true},
		"pings, read":            {nil, func(r *raw, _ uint32) error { return r.WritePing(false, [8]byte{}) }, true, false},
		"empty data":             {open, func(r *raw, _ uint32) error { return r.WriteData(1, false, nil) }, true, false},
		"data of padding":        {open, func(r *raw, _ uint32) error { return r.WriteDataPadded(1, false, nil, make([]byte, 255)) }, true, false},
		"data of no stream":      {nil, func(r *raw, n uint32) error { return r.WriteData(2*n+1, false, []byte("x")) }, true, true},
		"priorities": {nil, func(r *raw, n uint32) error {
			return r.WritePriority(2*n+1, http2.PriorityParam{StreamDep: 2*n + 3, Weight: uint8(n)})
		}, true, false},
		"windows of a byte": {nil, func(r *raw, _ uint32) error { return r.WriteWindowUpdate(0, 1) }, true, false},
		"windows too large": {nil, func(r *raw, _ uint32) error { return r.WriteWindowUpdate(0, 1<<31-1) }, true, true},
		"unknown frames":    {nil, func(r *raw, _ uint32) error { return r.WriteRawFrame(0xbe, 0, 0, make([]byte, 1000)) }, true, false},
		"continuations": {func(r *raw) error {
			return r.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: request})
		}, func(r *raw, n uint32) error {
			return r.WriteContinuation(1, false, []byte{0, 1, 'a', 1, byte('a' + n%26)})
		}, true, true},
		"empty continuations": {func(r *raw) error {
			return r.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: request})
		}, func(r *raw, _ uint32) error {
			return r.WriteContinuation(1, false, nil) // which may be followed by nothing else
		}, true, true},
		"header bombs": {nil, func(r *raw, n uint32) error {
			if n > 500 {
				return nil
			}
			return r.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, EndHeaders: true, EndStream: true, BlockFragment: bomb})
		}, true, false},
		"pushes": {nil, func(r *raw, n uint32) error {
			return r.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2*n + 2, EndHeaders: true, BlockFragment: request})
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := inUse()
			r := dialRaw(t, d)
			answered, closed := make(chan struct{}), make(chan struct{})
			if flood.reads {
				go r.readAll(answered, closed)
			}
			frames := uint32(read)
			if !flood.reads || flood.ends {
				frames = unread
			}
			var err error
			if flood.begin != nil {
				err = flood.begin(r)
			}
			for n := uint32(0); n < frames && err == nil; n++ {
				if err = flood.send(r, n); n%(frames/5) == frames/10 {
					other.served(t, "meanwhile")
					if grown := inUse() - before; grown > 8<<20 {
						t.Errorf("after %d frames, the heap has grown by %d bytes", n, grown)
					}
				}
			}
			if !flood.reads {
				go r.readAll(answered, closed)
			}
			if err == nil {
				err = r.WritePing(false, mine)
			}
			over := false
			select {
			case <-answered:
			case <-closed:
				over = true
			}
			if over != flood.ends {
				t.Errorf("the connection has ended: %v (%v), want %v", over, err, flood.ends)
			}
			_ = r.conn.Close()
			other.served(t, "afterwards")
		})
	}
}

// mine is a ping that no flood has.
var mine = [8]byte{1, 2, 3}

// readAll reads to the connection's end, and says when a ping was answered.
func (r *raw) readAll(answered, closed chan<- struct{}) {
	in := http2.NewFramer(nil, r.conn)
	for {
		f, err := in.ReadFrame()
		if err != nil {
			close(closed)
			return
		}
		if ping, ok := f.(*http2.PingFrame); ok && ping.Data == mine {
			close(answered)
			return
		}
	}
}
