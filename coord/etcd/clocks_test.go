package etcd

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

// serves is a server that answers a request as the test says, and its address.
func serves(t *testing.T, config *tls.Config, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if s.TLS = config; config != nil {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// speaks is a server that says the same to all, whatever they ask.
func speaks(t *testing.T, text string) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n') // or the answer may be lost with the question
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// showing answers with a Date that is off, as a server does whose clock is.
func showing(off time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now().Add(off).UTC().Format(http.TimeFormat))
		_, _ = io.WriteString(w, `{"etcdserver":"3.5.0"}`)
	}
}

func now() time.Time { return time.Unix(0, clockguard.System{}.Now().Wall) }

func elsewhere(config *tls.Config, endpoints ...string) *clocks {
	return &clocks{servers: Servers{Endpoints: endpoints, TLS: config}, own: func(netip.Addr) bool { return false }}
}

// What each server shows is returned as it is, and of one that shows nothing, why not. One that
// says nothing costs a second, and costs the others' answers no precision.
func TestClocksOfServers(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	for name, c := range map[string]struct {
		server string
		off    time.Duration
		err    string
	}{
		"right":          {server: serves(t, nil, showing(0))},
		"an hour ahead":  {server: serves(t, nil, showing(time.Hour)), off: time.Hour},
		"a year behind":  {server: serves(t, nil, showing(-365*24*time.Hour)), off: -365 * 24 * time.Hour},
		"an empty Date":  {server: serves(t, nil, func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = nil }), err: "no Date"},
		"a strange Date": {server: serves(t, nil, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Date", "yesterday") }), err: `"yesterday"`},
		"no such page":   {server: serves(t, nil, http.NotFound), err: "404"},
		"another place": {server: serves(t, nil, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}), err: "302"},
		"long headers": {server: serves(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}), err: "exceeded"},
		"no answer":      {server: serves(t, nil, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), err: "deadline"},
		"no word":        {server: silent.Addr().String(), err: "deadline"},
		"gRPC alone":     {server: speaks(t, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00"), err: "--listen-client-http-urls"},
		"an end at once": {server: speaks(t, ""), err: "--listen-client-http-urls"},
		"no such host":   {server: "host.invalid:2379", err: "host.invalid"},
		"TLS":            {server: serves(t, certtest.New(t, "ca").ServerConfig(certtest.New(t, "ca").Server(), false), showing(0)), err: "400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			right := serves(t, nil, showing(0))
			shown := elsewhere(nil, c.server, right).ask(t.Context(), clockguard.System{})
			if len(shown) != 2 || shown[0].Server != c.server || shown[1].Server != right {
				t.Fatalf("shown %+v; want of both", shown)
			}
			wants(t, shown[1], 0)
			if c.err == "" {
				wants(t, shown[0], c.off)
				return
			}
			if shown[0].Err == nil || !strings.Contains(shown[0].Err.Error(), c.err) || !strings.Contains(shown[0].Err.Error(), c.server) {
				t.Errorf("shown %+v; want an error with %q", shown[0], c.err)
			}
		})
	}
}

// wants wants a clock that is off by so much, asked in a short exchange.
func wants(t *testing.T, shown claims.Shown, off time.Duration) {
	t.Helper()
	shows, want := shown.Time, now().Add(off)
	if shown.Err != nil || shown.Unit != time.Second || shows.After(want) || shows.Before(want.Add(-10*time.Second)) {
		t.Errorf("shown %+v, want %v", shown, want)
	}
	if took := shown.Answered.Sub(shown.Sent); shown.Sent == 0 || took < 0 || took > 5*time.Second {
		t.Errorf("%s took %v, from %v", shown.Server, took, shown.Sent)
	}
}

// A server at one of this machine's addresses is not asked, whatever it is called.
func TestClocksOfOwnServers(t *testing.T) {
	asked := make(chan struct{}, 10)
	server := serves(t, nil, func(http.ResponseWriter, *http.Request) { asked <- struct{}{} })
	_, port, err := net.SplitHostPort(server)
	must.Do(t, err)
	s := must.Get(newStore(Config{}))(t)
	s.clocks.servers.Endpoints = []string{server, "localhost:" + port}
	if shown, err := s.Clocks(t.Context(), claims.Entry{}, clockguard.System{}); err != nil || len(shown) != 0 || len(asked) != 0 {
		t.Errorf("shown %+v, %v; %d were asked", shown, err, len(asked))
	}
}

// By a clock that is wrong every certificate has expired, or is not valid yet: it has to be valid
// at the time that its server tells, and is checked in no other way less than always.
func TestClocksOverTLS(t *testing.T) {
	ca, other := certtest.New(t, "ca"), certtest.New(t, "other")
	// ExpiredServer's certificate ended an hour ago, and began an hour before.
	const valid = -90 * time.Minute
	own := ca.ClientConfig(ca.Client("c"))
	for name, c := range map[string]struct {
		server certtest.Pair
		off    time.Duration
		client *tls.Config
		err    string
	}{
		"valid":                    {ca.Server(), 0, own, ""},
		"expired by our clock":     {ca.ExpiredServer(), valid, own, ""},
		"expired by its clock":     {ca.ExpiredServer(), 0, own, "not valid now"},
		"ahead of its certificate": {ca.Server(), 48 * time.Hour, own, "not valid now"},
		"another authority's":      {other.Server(), 0, own, "not signed"},
		"another name":             {ca.Server("etcd.example"), 0, own, "for another name"},
		"no client certificate":    {ca.Server(), 0, ca.ClientConfig(), "asks for a client certificate"},
		"nothing is checked":       {other.ExpiredServer(), 0, &tls.Config{InsecureSkipVerify: true, Certificates: own.Certificates}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serves(t, ca.ServerConfig(c.server, true), showing(c.off))
			shown := elsewhere(c.client, server).ask(t.Context(), clockguard.System{})
			switch {
			case len(shown) != 1:
				t.Fatalf("shown %+v", shown)
			case c.err == "":
				wants(t, shown[0], c.off)
			case shown[0].Err == nil || !strings.Contains(shown[0].Err.Error(), c.err):
				t.Errorf("shown %+v; want an error with %q", shown[0], c.err)
			}
		})
	}
}

// A caller that gives up has an answer for each server all the same.
func TestClocksGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := serves(t, nil, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if shown := elsewhere(nil, server).ask(ctx, clockguard.System{}); len(shown) != 1 || shown[0].Err == nil || shown[0].Server != server {
		t.Errorf("shown %+v", shown)
	}
}

// FuzzDate: whatever a server says for its Date, it is refused, or is the time that a server whose
// clock shows that says again.
func FuzzDate(f *testing.F) {
	for _, date := range []string{
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "",
		"Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 0000 00:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 +0200", "Sun, 30 Feb 2026 23:59:60 GMT", "yesterday",
	} {
		f.Add(date)
	}
	f.Fuzz(func(t *testing.T, date string) {
		shown, err := parseDate(date)
		if err != nil {
			if !shown.IsZero() {
				t.Errorf("%q is %v and %v", date, shown, err)
			}
			return
		}
		again, err := parseDate(shown.UTC().Format(http.TimeFormat))
		if err != nil || !again.Equal(shown) || shown.Nanosecond() != 0 {
			t.Errorf("%q is %v, which is %v, %v", date, shown, again, err)
		}
	})
}
