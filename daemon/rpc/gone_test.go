package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/internal/must"
)

// caller is one who calls, by a connection of its own.
type caller struct {
	client *http.Client
	mu     sync.Mutex
	conn   *net.TCPConn // nil: not yet
	gone   bool
}

// end closes the connection, also one that comes to be later.
func (c *caller) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone = true; c.conn != nil {
		_ = c.conn.Close()
	}
}

// cut does something to the connection, which there is.
func (c *caller) cut(do func(*net.TCPConn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.conn)
}

func (s *site) caller(http2 bool) *caller {
	c := &caller{}
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
		if err == nil {
			c.mu.Lock()
			if c.conn = conn.(*net.TCPConn); c.gone {
				_ = conn.Close()
			}
			c.mu.Unlock()
		}
		return conn, err
	}}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	c.client = &http.Client{Transport: transport}
	return c
}

func fetch(ctx context.Context, c *http.Client, r *http.Request) error {
	reply, err := c.Do(r.WithContext(ctx))
	if err != nil {
		return err
	}
	defer reply.Body.Close() // it has been read
	body, err := io.ReadAll(reply.Body)
	if err == nil && (reply.StatusCode != 200 || strings.Contains(string(body), "problem")) {
		err = fmt.Errorf("%s: %s", reply.Status, body)
	}
	return err
}

func get(accept string) func(context.Context, *http.Client) error {
	return func(ctx context.Context, c *http.Client) error {
		r, _ := http.NewRequest(http.MethodGet, "http://f/v1/ids", nil)
		r.Header.Set("Accept", accept)
		return fetch(ctx, c, r)
	}
}

func next(options ...connect.ClientOption) func(context.Context, *http.Client) error {
	return func(ctx context.Context, c *http.Client) error {
		_, err := flakewardv1connect.NewIdServiceClient(c, "http://f", options...).Next(ctx, connect.NewRequest(&flakewardv1.NextRequest{}))
		return err
	}
}

// stream asks by a stream's first message. What is said of the stream's end comes behind it.
func stream(ends bool) func(context.Context, *http.Client) error {
	return func(ctx context.Context, c *http.Client) error {
		s := flakewardv1connect.NewIdServiceClient(c, "http://f", connect.WithGRPC()).Stream(ctx)
		if err := s.Send(&flakewardv1.StreamRequest{}); err != nil {
			return err
		}
		if ends {
			if err := s.CloseRequest(); err != nil {
				return err
			}
		}
		_, err := s.Receive()
		_ = s.CloseRequest()
		return err
	}
}

// calls are the ways to ask for an ID.
var calls = []struct {
	name  string
	http2 bool
	ask   func(context.Context, *http.Client) error // returns once there is an answer
}{
	{"gRPC", true, next(connect.WithGRPC())},
	{"gRPC-Web", true, next(connect.WithGRPCWeb())},
	{"gRPC-Web by HTTP/1", false, next(connect.WithGRPCWeb())},
	{"Connect", true, next()},
	{"Connect by HTTP/1, JSON", false, next(connect.WithProtoJSON())},
	{"a stream", true, stream(false)},
	{"a stream whose client has asked all", true, stream(true)},
	{"HTTP/1", false, get("*/*")},
	{"HTTP/2", true, get("text/plain")},
}

// ways are the ways to go while a request waits.
var ways = []struct {
	name  string
	leave func(c *caller, cancel context.CancelFunc)
}{
	{"cancels", func(_ *caller, cancel context.CancelFunc) { cancel() }},
	{"closes the connection", func(c *caller, _ context.CancelFunc) {
		c.cut(func(conn *net.TCPConn) { _ = conn.Close() })
	}},
	{"closes its sending side", func(c *caller, _ context.CancelFunc) {
		c.cut(func(conn *net.TCPConn) { _ = conn.CloseWrite() })
	}},
	{"resets the connection", func(c *caller, _ context.CancelFunc) {
		c.cut(func(conn *net.TCPConn) {
			_ = conn.SetLinger(0)
			_ = conn.Close()
		})
	}},
}

// Whoever has gone, in whatever way, gets no ID and keeps none from others: the next tick is whole,
// and who asks for all of it need not wait.
func TestCallersThatGoTakeNoIDs(t *testing.T) {
	s := start(t)
	const each = 4 // callers of each way and call, at once
	for _, way := range ways {
		s.crowd(t, each, true, func(c *caller, waits <-chan struct{}, ask func(context.Context, *http.Client) error) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-waits
				way.leave(c, cancel)
			}()
			return ask(ctx, c.client)
		}, way.name)
	}
	s.crowd(t, each, false, func(c *caller, _ <-chan struct{}, ask func(context.Context, *http.Client) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return ask(ctx, c.client)
	}, "has a deadline")
	s.crowd(t, each, false, func(c *caller, _ <-chan struct{}, ask func(context.Context, *http.Client) error) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ask(ctx, c.client)
	}, "cancels before it asks")
	for of := range s.codes {
		if _, code, _ := strings.Cut(of, " "); code != rest.OK && code != rest.Gone {
			t.Errorf("%d are counted as %s", s.codes[of], of)
		}
	}
	for _, command := range []string{"next", "stream", "ids"} {
		if s.codes[command+" "+rest.Gone] == 0 {
			t.Errorf("of %s none is counted to have gone: %v", command, s.codes)
		}
	}
}

// Calls that only the server knows the end of are answered by then, and take nothing.
func TestTheServerKeepsTheDeadlineOfACall(t *testing.T) {
	s := start(t)
	for name, header := range map[string][3]string{
		"Connect": {"application/json", "Connect-Timeout-Ms", "10"}, "gRPC-Web": {"application/grpc-web+json", "Grpc-Timeout", "10m"},
		"gRPC": {"application/grpc+json", "Grpc-Timeout", "10m"},
	} {
		c := s.caller(true)
		body := "{}"
		if name != "Connect" {
			body = "\x00\x00\x00\x00\x02{}"
		}
		r := must.Get(http.NewRequest(http.MethodPost, "http://f"+flakewardv1connect.IdServiceNextProcedure, strings.NewReader(body)))(t)
		r.Header.Set("Content-Type", header[0])
		r.Header.Set(header[1], header[2])
		reply, err := c.client.Do(r)
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := io.ReadAll(reply.Body)
		text := string(got) + reply.Header.Get("Grpc-Status") + reply.Trailer.Get("Grpc-Status")
		if err != nil || !strings.Contains(text, "deadline_exceeded") && !strings.Contains(strings.ToLower(text), "grpc-status: 4") && text != "4" {
			t.Errorf("%s: %s, %q, %v", name, reply.Status, text, err)
		}
		_ = reply.Body.Close()
		c.end()
	}
	s.whole(t)
	if s.codes["next "+rest.Gone] != 3 {
		t.Errorf("counted are %v", s.codes)
	}
}

// What is nobody's doing but the caller's is counted as that, also where a stream broke off.
func TestWhoHasGoneIsCountedAsGone(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{context.Canceled, rest.Gone},
		{context.DeadlineExceeded, rest.Gone},
		{connect.NewError(connect.CodeCanceled, io.EOF), rest.Gone},
		{connect.NewError(connect.CodeDeadlineExceeded, io.EOF), rest.Gone},
		{connect.NewError(connect.CodeUnknown, errors.New("client disconnected")), rest.Gone},
		{connect.NewError(connect.CodeInvalidArgument, io.ErrUnexpectedEOF), "invalid_argument"},
		{failed(&rest.Problem{Code: "grant-ended", Status: http.StatusServiceUnavailable}), "grant-ended"},
	} {
		if got := codeOf(tt.err); got != tt.want {
			t.Errorf("%v is counted as %s, not %s", tt.err, got, tt.want)
		}
	}
}
