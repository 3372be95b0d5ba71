package page

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// stage is a page whose daemon a test plays.
type stage struct {
	*Page
	clock  *clocktest.Manual
	server *httptest.Server
	counts tally.Table
	events *condition.Counts

	host    string
	worker  int
	answers uint64
	away    atomic.Pointer[error]
}

func newStage(t testing.TB) *stage {
	t.Helper()
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	s := &stage{clock: clocktest.NewManual(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), events: condition.NewCounts(), host: "alpha", worker: 7}
	s.clock.Advance(time.Second)
	s.Page = New(Config{
		Version: "v1", Host: s.host, Layout: layout, Counts: &s.counts, Events: s.events, Clock: s.clock,
		Figures: func() metrics.Figures {
			now := s.clock.Now()
			at := func(d time.Duration) generator.Tick { return layout.TickAt(now.Wall + int64(d)) }
			return metrics.Figures{
				Now: now, Layout: layout, State: "ready", Cluster: metrics.Cluster{Coordinator: "etcd://h:1", ID: "the-cluster", UniqueWithin: "cluster"},
				Answers: map[clockguard.Answer]uint64{clockguard.Ring: s.answers},
				Lanes: []metrics.Lane{{State: "ready", Serves: true, Holding: grant.Holding{
					Worker: s.worker, Floor: at(-time.Hour), Issued: at(0), Mark: at(time.Second), Granted: at(10 * time.Minute),
				}}},
			}
		},
		Contact: func(context.Context) error {
			if err := s.away.Load(); err != nil {
				return *err
			}
			return nil
		},
		Members: func(context.Context) (cluster.Status, error) {
			return cluster.StatusOf(cluster.Cluster{Layout: layout}, time.Unix(0, s.clock.Now().Wall), []coord.Member{{Worker: 3, Host: `<b>"beta"`}}), nil
		},
		Holder: func(context.Context, generator.Parts) (cluster.Finding, error) {
			return cluster.Finding{Verdict: cluster.Held, Interval: &coord.HolderInterval{Host: "gamma"}}, nil
		},
		Decode: func(text, _ string) (int64, generator.Parts, error) {
			if !strings.HasPrefix(text, "11814196366573568") {
				return 0, generator.Parts{}, errors.New("it is no ID")
			}
			parts, err := layout.Decompose(118141963665735680)
			return 118141963665735680, parts, err
		},
		User: func(r *http.Request) queue.User { return queue.User{UID: uint32(len(r.Header.Get("X-User")))} },
	})
	mux := http.NewServeMux()
	for path, h := range s.Handlers() {
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle(path, h)
	}
	s.server = httptest.NewUnstartedServer(mux)
	s.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10) // so that who reads nothing is soon noticed
		return ctx
	}
	s.server.Start()
	t.Cleanup(s.server.Close)
	t.Cleanup(s.Close)
	return s
}

func (s *stage) get(t *testing.T, path string, header ...string) (*http.Response, string) {
	t.Helper()
	return sockettest.Ask(t, http.DefaultClient, http.MethodGet, s.server.URL+path, header...)
}

// Without a script, all of it is in the reply.
func TestThePageIsWholeWithoutScripts(t *testing.T) {
	s := newStage(t)
	s.Begin()
	_, body := s.get(t, "/")
	body = strings.ReplaceAll(body, "&#43;", "+")
	for _, want := range []string{"Issuing IDs", "Decode an ID", "Trusted time", "alpha", "etcd://h:1", "+10m0s", "+1.0s", "−1h0m", "answers in", `&lt;b&gt;&#34;beta&#34;`, `action="/" method="get"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if strings.Contains(body, "<b>") {
		t.Error("what a member calls itself is taken for HTML")
	}
	_, body = s.get(t, "/?id=118141963665735680")
	for _, want := range []string{"gamma", `value="118141963665735680"`, `<span class="f-worker">`, "its number in the tick"} {
		if !strings.Contains(body, want) {
			t.Errorf("of an ID, the page does not have %s", want)
		}
	}
	for id, want := range map[string]bool{"118141963665735680": true, "118141963665735681": false} {
		if _, body := s.get(t, "/?id="+id); strings.Contains(body, "This ID may be rounded") != want {
			t.Errorf("%s: the page says that it may be rounded: %v", id, !want)
		}
	}
	_, body = s.get(t, "/?as=base62&id=%3Cscript%3E"+strings.Repeat("x", 500))
	if strings.Contains(body, "<script>") || !strings.Contains(body, "it is no ID") || strings.Contains(body, strings.Repeat("x", 100)) || !strings.Contains(body, "<option selected>base62") {
		t.Error("what is no ID is repeated, or not refused")
	}
}

// No reply may run or load anything but the page's own files.
// Each text at a lane's line has a row of its own: where a daemon has been idle, the last ID, the
// floor and the mark are at nearly the same place.
func TestTextsAtTheLineHaveARowEach(t *testing.T) {
	s := newStage(t)
	_, body := s.get(t, "/")
	_, line, _ := strings.Cut(body, `<div class="line">`)
	line, _, _ = strings.Cut(line, "</svg>")
	rows := map[int]string{}
	for _, text := range regexp.MustCompile(`<text class="([a-z]+)" x="[^"]*" y="([0-9]+)"`).FindAllStringSubmatch(line, -1) {
		y := must.Get(strconv.Atoi(text[2]))(t)
		for other, name := range rows {
			if y-other < 14 && other-y < 14 {
				t.Errorf("%s and %s are at %d and %d", text[1], name, y, other)
			}
		}
		rows[y] = text[1]
	}
	if len(rows) != 4 {
		t.Errorf("the texts are %v, want four", rows)
	}
}

func TestEachReplyHasThePolicy(t *testing.T) {
	s := newStage(t)
	s.Begin()
	weight := 0
	for path, kind := range map[string]string{"/": "text/html", "/page/style.css": "text/css", "/page/script.js": "text/javascript", "/page/icon.svg": "image/svg+xml"} {
		reply, body := s.get(t, path)
		h := reply.Header
		if !strings.HasPrefix(h.Get("Content-Type"), kind) || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; ") ||
			strings.Contains(h.Get("Content-Security-Policy"), "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %v", path, h)
		}
		if path == "/" && (strings.Contains(body, " style=") || strings.Contains(body, "<style") || strings.Contains(body, "<script>") || strings.Contains(body, "://www.") || h.Get("Cache-Control") != "no-store") {
			t.Error("the page has what its policy forbids, or may be kept")
		}
		weight += len(body)
	}
	if weight > 100_000 {
		t.Errorf("the page has %d bytes", weight)
	}
	if reply, _ := s.get(t, "/page/events", "Sec-Fetch-Site", "cross-site"); reply.StatusCode != http.StatusForbidden {
		t.Errorf("another site listens: %s", reply.Status)
	}
}

// listener is a browser that listens.
type listener struct {
	t     *testing.T
	reply *http.Response
	lines *bufio.Scanner
}

func (s *stage) listen(t *testing.T) *listener {
	t.Helper()
	return s.listenAs(t, "")
}

func (s *stage) listenAs(t *testing.T, user string) *listener {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/page/events", nil))(t)
	r.Header.Set("X-User", user)
	reply := must.Get(http.DefaultClient.Do(r))(t)
	t.Cleanup(func() { _ = reply.Body.Close() })
	l := &listener{t: t, reply: reply, lines: bufio.NewScanner(reply.Body)}
	l.lines.Buffer(nil, 1<<20)
	return l
}

// next is what changed; nil: the stream has ended.
func (l *listener) next() (html map[string]string) {
	l.t.Helper()
	for l.lines.Scan() {
		if data, ok := strings.CutPrefix(l.lines.Text(), "data: "); ok {
			must.Do(l.t, json.Unmarshal([]byte(data), &html))
			return html
		}
	}
	return nil
}

// tick lets a second pass, and samples it.
func (s *stage) tick() {
	s.clock.Advance(sampleEvery)
	s.sample()
}

// until lets seconds pass until the element has the text.
func (l *listener) until(s *stage, id, text string) {
	l.t.Helper()
	for range 20 {
		s.tick()
		now := time.Unix(0, s.clock.Now().Wall).UTC().Format("15:04:05")
		for { // what the coordinator says may come by itself
			html := l.next()
			if strings.Contains(html[id], text) {
				return
			}
			if html == nil || strings.Contains(html["state"], now) {
				break
			}
		}
	}
	l.t.Fatalf("%s does not get the text %q", id, text)
}

// What changes is sent, and only that; what the guard did is said once, however often it did it.
func TestWhatChangesIsSent(t *testing.T) {
	s := newStage(t)
	l := s.listen(t)
	l.until(s, "state", "answers in")
	s.counts.IDs(tally.Issue{}).Add(5000)
	l.until(s, "traffic", "5 k")
	s.tick()
	for now := time.Unix(0, s.clock.Now().Wall).UTC().Format("15:04:05"); ; {
		html := l.next()
		if html == nil || html["conditions"] != "" || html["log"] != "" {
			t.Fatalf("after a calm second, there come %d elements", len(html))
		}
		if strings.Contains(html["state"], now) {
			break
		}
	}
	away := errors.New("nobody is there")
	s.away.Store(&away)
	l.until(s, "state", "does not answer since")
}

func TestStreamsAreBoundedAndEnd(t *testing.T) {
	s := newStage(t)
	s.Begin()
	var all []*listener
	for n := range mostStreams {
		all = append(all, s.listenAs(t, strings.Repeat("x", n/mostOfAUser)))
		if n+1 != mostOfAUser && n+1 != mostStreams {
			continue
		}
		if reply := s.listen(t).reply; reply.StatusCode != http.StatusServiceUnavailable || reply.Header.Get("Retry-After") == "" {
			t.Fatalf("one stream too many of a user who has %d: %s", mostOfAUser, reply.Status)
		}
	}
	if reply := s.listenAs(t, "somebody else").reply; reply.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("one stream too many of all: %s", reply.Status)
	}
	if reply, _ := s.get(t, "/"); reply.StatusCode != http.StatusOK {
		t.Errorf("the page itself: %s", reply.Status)
	}
	s.Close()
	for _, l := range all {
		for l.next() != nil {
		}
		if err := l.lines.Err(); err != nil {
			t.Errorf("a stream was cut off: %v", err)
		}
	}
	if reply, _ := s.get(t, "/page/events"); reply.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after the end: %s", reply.Status)
	}
}

// deaf opens a stream, and never reads of it.
func (s *stage) deaf(t *testing.T) {
	t.Helper()
	conn := must.Get(net.Dial("tcp", s.server.Listener.Addr().String()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(1 << 10)
	must.Get(io.WriteString(conn, "GET /page/events HTTP/1.1\r\nHost: x\r\n\r\n"))(t)
}

func (s *stage) open() int {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	return len(s.streams.open)
}

// One that reads nothing is ended; another gets each update meanwhile.
func TestASlowReaderHurtsNobody(t *testing.T) {
	s := newStage(t)
	s.deaf(t)
	l := s.listen(t)
	large := strings.Repeat("x", 1<<17)
	for s.open() < 2 { // the first has come
		s.streams.publish(map[string]string{"a": "b"})
	}
	for n := 0; s.open() == 2; n++ {
		if n > 1000 {
			t.Fatal("who reads nothing is not ended")
		}
		s.streams.publish(map[string]string{"log": large + strings.Repeat("y", n)})
		for { // until it has come as well
			html := l.next()
			if html == nil {
				t.Fatal("who reads is ended")
			}
			if strings.HasSuffix(html["log"], strings.Repeat("y", n)) {
				break
			}
		}
	}
}

// A write that hangs does not keep the daemon from ending.
func TestASlowReaderDoesNotHoldUpTheEnd(t *testing.T) {
	s := newStage(t)
	s.deaf(t)
	s.streams.publish(map[string]string{"log": strings.Repeat("x", 1<<20)}) // more than the kernel keeps
	for stuck := 0; stuck < 1000; {
		s.streams.mu.Lock()
		for of := range s.streams.open {
			of.mu.Lock()
			if stuck++; !of.writes {
				stuck = 0
			}
			of.mu.Unlock()
		}
		s.streams.mu.Unlock()
		runtime.Gosched()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Close()
	}()
	for open := true; open; {
		select {
		case <-s.streams.gone():
			open = false
		default:
			s.clock.Advance(lastEvent)
		}
	}
	<-ended
}
