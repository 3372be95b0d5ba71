package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/await"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// store is a source that counts up while it has something.
type store struct {
	mu    sync.Mutex
	next  int64
	left  int
	most  int // of one run
	err   error
	asked chan struct{} // gets one for each Take in vain
}

func (s *store) Take(_ *issue.Connection, _ uint32, n int) (generator.Run, issue.Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return generator.Run{}, issue.Wait{Err: s.err}
	}
	n = min(n, s.left, s.most)
	if n == 0 {
		s.asked <- struct{}{}
		return generator.Run{}, issue.Wait{Event: true, For: time.Hour}
	}
	run := generator.Run{First: s.next, N: n}
	s.next += int64(n)
	s.left -= n
	return run, issue.Wait{}
}

func (s *store) set(left int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.err = left, err
}

type counts struct {
	requests, errors, issued, burnt atomic.Int64
}

func (c *counts) Request(_, code string) {
	c.requests.Add(1)
	if code != OK {
		c.errors.Add(1)
	}
}
func (c *counts) Waits(int64)                  {}
func (c *counts) Issued(_ form.Form, n uint64) { c.issued.Add(int64(n)) }
func (c *counts) Burnt(n uint64)               { c.burnt.Add(int64(n)) }
func (c *counts) Took(time.Duration)           {}

// site is a server under test, on a Unix socket.
type site struct {
	*store
	counts
	taker  *await.Taker
	server *Server
	client *http.Client
	path   string
	ended  chan struct{} // gets one for each connection that has ended, and its request before
}

func start(t *testing.T, layout string, change func(*Config)) *site {
	t.Helper()
	return startBy(t, layout, change, func(*http.Server) {})
}

func startBy(t *testing.T, layout string, change func(*Config), tune func(*http.Server)) *site {
	t.Helper()
	l := must.Get(generator.ParseLayout(layout))(t)
	s := &site{store: &store{left: 1 << 40, most: 1 << 40, asked: make(chan struct{}, 1<<16)}}
	s.taker = await.New(s.store, clockguard.System{}, &s.counts)
	c := Config{
		Take: s.taker, Layout: l, MaxCount: 65536, Clock: clockguard.System{}, Count: &s.counts, Block: time.Minute,
		Status: func() info.Info {
			return info.Info{{Name: "Worker", Entries: []info.Entry{{Key: "state", Value: "ready"}, {Key: "worker_id", Value: "7"}, {Key: "host", Value: "7"}}}}
		},
		Cluster: func(context.Context) (any, error) {
			return map[string]any{"cluster": "", "datacenter": 0, "layout": "", "members": []string{}, "now": nil, "raised": nil, "raised_tick": nil, "workers": 0}, nil
		},
		Health: Health{
			Live: func(context.Context) error { return nil },
			Ready: func() Readiness {
				return Readiness{Ready: true, State: "ready", Conditions: []Condition{{Code: "half-over", Detail: "x", Do: "y"}}}
			},
		},
	}
	if change != nil {
		change(&c)
	}
	s.server = New(c)
	s.path = filepath.Join(t.TempDir(), "s")
	listener := must.Get(net.Listen("unix", s.path))(t)
	s.ended = make(chan struct{}, 1<<16)
	h := s.server.HTTP()
	follow := h.ConnState
	h.ConnState = func(c net.Conn, state http.ConnState) {
		if follow(c, state); state == http.StateClosed {
			s.ended <- struct{}{}
		}
	}
	tune(h)
	served := make(chan error, 1)
	go func() { served <- h.Serve(listener) }()
	s.client = sockettest.HTTP(t, s.path, false)
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		_ = h.Close()
		<-served
		s.server.Wait()
	})
	return s
}

func (s *site) do(t *testing.T, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	reply, body := sockettest.Ask(t, s.client, method, "http://f"+path, header...)
	documented(t, reply.Request, reply, body)
	return reply, body
}

func TestReplies(t *testing.T) {
	s := start(t, "twitter", nil)
	s.most = 2
	for _, tt := range []struct {
		path, accept, kind, body string
	}{
		{"/v1/ids", "", "application/json", `{"ids":["0"]}` + "\n"},
		{"/v1/ids?count=3", "*/*", "application/json", `{"ids":["1","2","3"]}` + "\n"},
		{"/v1/ids?count=3", "text/plain", "text/plain; charset=utf-8", "4\n5\n6\n"},
		{"/v1/ids?count=1&tenant=0", "text/plain;q=0.9, application/json", "text/plain; charset=utf-8", "7\n"},
		{"/v1/runs?count=3", "", "application/json", `{"step":"1","runs":[{"first":"8","count":2},{"first":"10","count":1}]}` + "\n"},
		{"/v1/ids/1541815603606036480", "", "application/json",
			`{"id":"1541815603606036480","time":"2022-06-28T16:07:40.105Z","tick":367597485448,"datacenter":11,"worker":26,"sequence":0,"may_be_rounded":true}` + "\n"},
		{"/v1/ids/1ptWyK4WgZU?as=base62", "", "application/json",
			`{"id":"1541815603606036480","time":"2022-06-28T16:07:40.105Z","tick":367597485448,"datacenter":11,"worker":26,"sequence":0}` + "\n"},
		{"/v1/ids/1541815603606036481", "", "application/json",
			`{"id":"1541815603606036481","time":"2022-06-28T16:07:40.105Z","tick":367597485448,"datacenter":11,"worker":26,"sequence":1}` + "\n"},
		{"/v1/bounds?from=2022-06-28T16:07:40.105Z&to=2022-06-28T16:07:40.106Z", "", "application/json", `{"from":"1541815603604488192","below":"1541815603608682496"}` + "\n"},
		{"/v1/status", "", "application/json", `{"Worker":{"host":"7","state":"ready","worker_id":7}}` + "\n"},
		{"/v1/cluster", "", "application/json", `{"cluster":"","datacenter":0,"layout":"","members":[],"now":null,"raised":null,"raised_tick":null,"workers":0}` + "\n"},
	} {
		reply, body := s.do(t, "GET", tt.path, "Accept", tt.accept)
		if reply.StatusCode != 200 || reply.Header.Get("Content-Type") != tt.kind || body != tt.body {
			t.Errorf("%s (%s): %s, %s, %q; want %q", tt.path, tt.accept, reply.Status, reply.Header.Get("Content-Type"), body, tt.body)
		}
		if reply.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached", tt.path)
		}
	}
	if s.issued.Load() != 11 || s.next != 11 {
		t.Errorf("%d IDs are counted, %d were taken", s.issued.Load(), s.next)
	}
}

func TestTheFieldsOfALayoutAreShownOnlyIfItHasThem(t *testing.T) {
	s := start(t, "time=41@1ms,datacenter=2,worker=8,tenant=4,sequence=8;epoch=2020-01-01", nil)
	if _, body := s.do(t, "GET", "/v1/ids/123456789"); !strings.Contains(body, `"datacenter":1,`) || !strings.Contains(body, `"tenant":`) {
		t.Error(body)
	}
	for of, status := range map[string]int{"15": 200, "orders": 400, "16": 400} {
		if reply, body := s.do(t, "GET", "/v1/ids?tenant="+of); reply.StatusCode != status {
			t.Errorf("%s: %d %s", of, reply.StatusCode, body)
		}
	}
}

// A parameter that is missing, or one whose + was read as a blank, is told from one that is wrong.
func TestBoundsSayWhatIsWrongWithATime(t *testing.T) {
	s := start(t, "twitter", nil)
	for query, want := range map[string]string{
		"from=-1h":                                       "the parameter to is wrong: it is missing",
		"from=2026-01-02T00:00:00+01:00&to=now":          "; write + as %2B",
		"from=2026-01-02T00:00:00%2B01:00&to=2026-01-03": `"from":"`,
	} {
		if _, body := s.do(t, "GET", "/v1/bounds?"+query); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", query, body, want)
		}
	}
}

func TestWhatIsWrongIsAProblemWithACode(t *testing.T) {
	s := start(t, "twitter", func(c *Config) { c.MaxCount = 100 })
	for _, tt := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/", 404, "unknown-path"},
		{"GET", "/v1/ids/", 400, "bad-id"},
		{"GET", "/v1/ids/1/2", 404, "unknown-path"},
		{"GET", "/v1/ids/-1", 400, "bad-id"},
		{"GET", "/v1/ids/9223372036854775808", 400, "bad-id"},
		{"GET", "/v1/ids?count=0", 400, "bad-count"},
		{"GET", "/v1/ids?count=", 400, "bad-count"},
		{"GET", "/v1/ids?count=+1", 400, "bad-count"},
		{"GET", "/v1/ids?count=101", 400, "count-too-high"},
		{"GET", "/v1/ids?count=99999999999999999999999", 400, "count-too-high"},
		{"GET", "/v1/ids?count=1&count=2", 400, "wrong-parameter"},
		{"GET", "/v1/ids?as=", 400, "bad-form"},
		{"GET", "/v1/ids?counts=1", 400, "unknown-parameter"},
		{"GET", "/v1/ids?tenant=1", 400, "no-tenants"},
		{"GET", "/v1/ids?count=%zz", 400, "wrong-parameter"},
		{"GET", "/v1/runs?count=x", 400, "bad-count"},
		{"GET", "/v1/status?x=y", 400, "unknown-parameter"},
		{"GET", "/v1/bounds", 400, "wrong-parameter"},
		{"GET", "/v1/bounds?from=2022-01-02&to=2022-01-01", 400, "wrong-parameter"},
		{"PUT", "/v1/ids", 405, "wrong-method"},
		{"POST", "/v1/ids/1", 405, "wrong-method"},
		{"POST", "/v1/status", 405, "wrong-method"},
		{"POST", "/v1/ids?count=0", 400, "bad-count"},
		{"POST", "/v1/runs?counts=1", 400, "unknown-parameter"},
		{"GET", "/v1/ids?__=1", 400, "unknown-parameter"},
		{"DELETE", "/v1/ids/1", 405, "wrong-method"},
		{"BREW", "/v1/layout", 405, "wrong-method"},
		{"POST", "/v1/nothing", 404, "unknown-path"},
		{"OPTIONS", "/v1/ids/1/2", 404, "unknown-path"},
		{"BREW", "/coffee?count=1", 404, "unknown-path"},
	} {
		reply, body := s.do(t, tt.method, tt.path)
		var p Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || reply.StatusCode != tt.status || p.Status != tt.status || p.Code != tt.code ||
			p.Detail == "" || p.Type != "urn:flakeward:"+tt.code || reply.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s %s (%v)", tt.method, tt.path, reply.Status, body, err)
		}
		allowed := "GET, HEAD, OPTIONS"
		if tt.path == "/v1/ids" {
			allowed = "GET, HEAD, POST, OPTIONS"
		}
		if tt.status == 405 && reply.Header.Get("Allow") != allowed {
			t.Errorf("%s %s allows %q", tt.method, tt.path, reply.Header.Get("Allow"))
		}
	}
	if s.next != 0 || s.requests.Load() != 30 || s.errors.Load() != 30 {
		t.Errorf("%d IDs were taken; %d requests, %d errors", s.next, s.requests.Load(), s.errors.Load())
	}
}

func TestHeadAndOptionsTakeNoIDs(t *testing.T) {
	s := start(t, "twitter", nil)
	for _, path := range []string{"/v1/ids?count=5", "/v1/runs?count=5", "/v1/status", "/v1/layout", "/v1/cluster", "/v1/ids/1", "/v1/openapi.json"} {
		if reply, body := s.do(t, "HEAD", path); reply.StatusCode != 200 || body != "" || reply.Header.Get("Content-Type") != "application/json" {
			t.Errorf("HEAD %s: %s %q %v", path, reply.Status, body, reply.Header)
		}
		if reply, body := s.do(t, "OPTIONS", path); reply.StatusCode != 204 || body != "" || strings.Contains(reply.Header.Get("Allow"), "POST") != strings.Contains(path, "count") {
			t.Errorf("OPTIONS %s: %s %q", path, reply.Status, body)
		}
	}
	if reply, _ := s.do(t, "HEAD", "/v1/ids", "Accept", "text/plain"); !strings.HasPrefix(reply.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("HEAD as text: %v", reply.Header)
	}
	if s.next != 0 {
		t.Errorf("%d IDs were taken", s.next)
	}
}

func TestUnavailableSaysWhenToTryAgain(t *testing.T) {
	s := start(t, "twitter", nil)
	for _, tt := range []struct {
		err    error
		status int
		code   string
		after  string
	}{
		{&issue.UnavailableError{Reason: issue.ErrCeiling}, 503, "grant-ended", "1"},
		{&issue.UnavailableError{Reason: issue.ErrClock, For: 2500 * time.Millisecond}, 503, "clock-behind", "3"},
		{&issue.UnavailableError{Reason: issue.ErrRate, For: time.Millisecond}, 429, "user-rate", "1"},
		{&issue.TooManyError{Count: 5, Largest: 3, After: 4 * time.Second}, 503, "count-too-large", "4"},
		{&issue.TooManyError{Count: 5, Largest: 3}, 400, "count-too-large", ""},
		{&issue.UnavailableError{Reason: issue.ErrTenant}, 400, "unavailable", ""},
		{errors.New("x"), 503, "unavailable", "1"},
		{&issue.UnavailableError{Reason: issue.ErrCeiling, Condition: &condition.Condition{Code: condition.CoordinatorGone, Stopped: true, Err: context.DeadlineExceeded}}, 503, "coordinator-gone", "1"},
	} {
		s.set(0, tt.err)
		reply, body := s.do(t, "GET", "/v1/ids?count=5")
		var p Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || reply.StatusCode != tt.status || p.Code != tt.code || reply.Header.Get("Retry-After") != tt.after {
			t.Errorf("%v: %s, Retry-After %q, %s (%v)", tt.err, reply.Status, reply.Header.Get("Retry-After"), body, err)
		}
		if many := (*issue.TooManyError)(nil); errors.As(tt.err, &many) && (p.Largest == nil || *p.Largest != 3) {
			t.Errorf("%v: %s does not tell the largest", tt.err, body)
		}
	}
}

func TestEachRefusalHasAStatusOrKeepsIDsFromBeingIssued(t *testing.T) {
	for _, k := range []resp.Kind{
		resp.UnknownPath, resp.WrongMethod, resp.UnknownParameter, resp.WrongParameter, resp.NotHere, resp.BadCount, resp.CountTooHigh, resp.BadTenant,
		resp.NoTenants, resp.BadID, resp.WrongID, resp.NotAllowed,
	} {
		if p := problemOf(resp.Refuse(k)); p.Status == 503 || p.Title == "" || p.Code == "" {
			t.Errorf("kind %d: %+v", k, p)
		}
	}
	if p := problemOf(resp.Refuse(resp.Unavailable, "x")); p.Status != 503 || p.retry == 0 {
		t.Errorf("%+v", p)
	}
}

func TestTheClusterThatCannotBeAskedIsAProblem(t *testing.T) {
	s := start(t, "twitter", func(c *Config) {
		c.Cluster = func(context.Context) (any, error) { return nil, errors.New("nobody answers") }
	})
	if reply, body := s.do(t, "GET", "/v1/cluster"); reply.StatusCode != 503 || !strings.Contains(body, `"code":"coordinator-gone"`) {
		t.Errorf("%s %s", reply.Status, body)
	}
	if reply, body := s.do(t, "HEAD", "/v1/cluster"); reply.StatusCode != 503 || body != "" || reply.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("HEAD: %s %v %s", reply.Status, reply.Header, body)
	}
}
