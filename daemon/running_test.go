package daemon_test

import (
	"context"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// running is a daemon in this process, on a real coordinator and a real socket.
type running struct {
	*daemontest.Daemon
	t      *testing.T
	config daemon.Config
	client *redis.Client
	http   *http.Client // of web; nil: none yet
	log    *logtest.Buffer
}

func dir(t *testing.T) string { t.Helper(); return sockettest.Dir(t) }

// coordDir is the coordinator's directory.
func coordDir(c daemon.Config) string { return strings.TrimPrefix(c.Cluster.Coord, "dir:") }

func config(d string) daemon.Config { return daemontest.Config(d) }

// launch starts a daemon and does not wait for it.
func launch(t *testing.T, c daemon.Config) *running {
	t.Helper()
	return launchBy(t, c, daemon.Run)
}

func launchBy(t *testing.T, c daemon.Config, run func(context.Context, daemon.Config) error) *running {
	t.Helper()
	d := daemontest.Launch(t, c, run)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: c.Socket.Path, MaxRetries: -1, ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = client.Close() })
	return &running{Daemon: d, t: t, config: d.Config, client: client, log: d.Log}
}

// start starts a daemon and waits until it can issue.
func start(t *testing.T, c daemon.Config) *running {
	t.Helper()
	return startBy(t, c, daemon.Run)
}

func startBy(t *testing.T, c daemon.Config, run func(context.Context, daemon.Config) error) *running {
	t.Helper()
	r := launchBy(t, c, run)
	r.UntilReady()
	return r
}

// web is a client of HTTP on the daemon's socket.
func (r *running) web() *http.Client {
	r.t.Helper()
	if r.http == nil {
		r.http = overSocket(r.t, r.Daemon)
	}
	return r.http
}

// untilServed waits until somebody listens on the socket, which is before there are IDs.
func (r *running) untilServed() {
	r.t.Helper()
	must.Soon(r.t, func() bool {
		conn, err := net.Dial("unix", r.config.Socket.Path)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, "somebody listens; the log:\n%s", r.log)
}

func (r *running) do(args ...any) (any, error) {
	return r.client.Do(r.t.Context(), args...).Result()
}

func (r *running) next() int64 {
	r.t.Helper()
	id, err := r.client.Do(r.t.Context(), "NEXT").Int64()
	if err != nil {
		r.t.Fatalf("NEXT: %v; the log:\n%s", err, r.log)
	}
	return id
}

// info is INFO as a map.
func (r *running) info() map[string]string {
	r.t.Helper()
	text := must.Get(r.client.Info(r.t.Context()).Result())(r.t)
	return info.Parse(text).Map()
}

var coded = regexp.MustCompile(`(?m)^flakeward_(?:in_condition|events_total|requests_total)\{[^}]*\bcode="([^"]+)"[^}]*\} (\S+)$`)

// codes are those that a scrape over the socket shows: a metric with them is not 0.
func (r *running) codes() map[condition.Code]bool {
	r.t.Helper()
	reply, body := get(r.t, r.web(), "/metrics")
	if reply.StatusCode != 200 {
		r.t.Fatalf("a scrape: %s %s", reply.Status, body)
	}
	shown := map[condition.Code]bool{}
	for _, found := range coded.FindAllStringSubmatch(body, -1) {
		if found[2] != "0" {
			shown[condition.Code(found[1])] = true
		}
	}
	return shown
}

// shows waits until a scrape shows a code. A daemon that is well shows none.
func (r *running) shows(code condition.Code) {
	r.t.Helper()
	must.Soon(r.t, func() bool { return r.codes()[code] }, "a scrape shows %s; the log:\n%s", code, r.log)
}

// tells waits until INFO has a code, and wants what to do about it in INFO, /readyz, the command
// health and, with logged, in a line of the log. The code of a condition that has stopped issuing
// is that of its cause; do is what is to be done.
func (r *running) tells(code condition.Code, do string, logged bool) {
	r.t.Helper()
	r.shows(code)
	if got := r.info(); got["condition_code"] != string(code) || got["condition_do"] != do {
		r.t.Errorf("INFO says %s, and to do %q; want %s and %q", got["condition_code"], got["condition_do"], code, do)
	}
	want := string(code) + ": "
	if _, body := get(r.t, r.web(), "/readyz?verbose"); !strings.Contains(body, want) || !strings.Contains(body, "; "+do+"\n") {
		r.t.Errorf("/readyz says %q, want %s and %q", body, code, do)
	}
	var out strings.Builder
	err := cli.Run(r.t.Context(), []string{"flakeward", "health", "--socket", r.config.Socket.Path}, nil, &out, &out, nil)
	if err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), do)) {
		r.t.Errorf("health says %v, want %s and %q", err, code, do)
	}
	if ready := r.info()["state"] == "ready"; ready != (err == nil) {
		r.t.Errorf("health says %v, and INFO that the daemon is %s", err, r.info()["state"])
	}
	if logged {
		line := regexp.MustCompile(`code=` + string(code) + ` .*do="` + regexp.QuoteMeta(do) + `"`)
		r.says("code=" + string(code) + " ")
		if !line.MatchString(r.log.String()) {
			r.t.Errorf("the log does not have %s:\n%s", line, r.log)
		}
	}
}

// says waits until the log has a text.
func (r *running) says(text string) {
	r.t.Helper()
	must.Soon(r.t, func() bool { return strings.Contains(r.log.String(), text) }, "the log says %q:\n%s", text, r.log)
}

// timeout bounds a wait for something that takes well below a second.
const timeout = time.Minute

// until asks for an ID and for INFO again and again until INFO is as it should be, and returns it.
// Each ID must come.
func (r *running) until(what string, done func(info map[string]string) bool) map[string]string {
	r.t.Helper()
	var info map[string]string
	must.Soon(r.t, func() bool {
		r.next()
		info = r.info()
		return done(info)
	}, "%s; the log:\n%s", what, r.log)
	return info
}
