package daemon_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// scraped runs a daemon and hands it out before it begins.
func scraped(found chan<- *daemon.Daemon) func(context.Context, daemon.Config) error {
	return func(ctx context.Context, c daemon.Config) error {
		d, err := daemon.New(c)
		if err != nil {
			return err
		}
		found <- d
		return d.Run(ctx)
	}
}

// scrape returns a scrape's status and text, and what it has of each metric.
func scrape(d *daemon.Daemon) (status int, text string, values map[string]string) {
	w := httptest.NewRecorder()
	d.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	values = make(map[string]string)
	for line := range strings.Lines(w.Body.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			values[name] = value
		}
	}
	return w.Code, w.Body.String(), values
}

// TestMetricsAndINFOHaveTheSameFigures: they are made of the same.
func TestMetricsAndINFOHaveTheSameFigures(t *testing.T) {
	found := make(chan *daemon.Daemon, 1)
	c := config(dir(t))
	c.Waiting.Rate = "1000/s+100"
	r := startBy(t, c, scraped(found))
	d := <-found
	for range 5 {
		r.next()
	}
	_, _ = r.do("NEXT", 20)
	_, _ = r.do("NEXT", 0)
	if _, err := r.do("RUN", 65536); err == nil || !strings.Contains(err.Error(), "at the user's rate of 1000/s: at most ") {
		t.Errorf("a count over the rate: %v", err)
	}
	in := r.info()
	must.Soon(t, func() bool { in = r.info(); return in["state"] == "ready" }, "ready")
	_, _, got := scrape(d)
	sum := func(prefix string) (n int) {
		for name, value := range got {
			if strings.HasPrefix(name, prefix+"{") {
				var v float64
				_, _ = fmt.Sscan(value, &v)
				n += int(v)
			}
		}
		return n
	}
	if n := got["flakeward_ids_issued_total"]; n != "25" || in["total_ids_issued"] != "25" {
		t.Errorf("of 25 IDs, %s are counted, and INFO says %s", n, in["total_ids_issued"])
	}
	if all, refused := got[`flakeward_requests_total{code="ok",command="NEXT",dialect="resp"}`], got[`flakeward_requests_total{code="bad-count",command="NEXT",dialect="resp"}`]; all != "6" || refused != "1" {
		t.Errorf("of 6 and 1 NEXT, %s and %s are counted", all, refused)
	}
	// INFO itself is one more by the time of the scrape.
	if n := fmt.Sprint(sum("flakeward_requests_total") - 1); n != in["total_commands_processed"] {
		t.Errorf("%s requests are counted, and INFO says %s", n, in["total_commands_processed"])
	}
	if n := sum("flakeward_user_ids_total"); n != 25 {
		t.Errorf("the user has taken %d of 25", n)
	}
	for name, want := range map[string]string{
		"flakeward_ready": "1", "flakeward_worker_id": in["worker_id"],
		"flakeward_connections": in["connected_clients"], "flakeward_worker_ids": "1024", "flakeward_worker_ids_held": "1",
		"flakeward_max_block_seconds": "60", "flakeward_window_seconds": "600",
		"flakeward_clock_held_offset_seconds": "0", `flakeward_coordinator_calls_total{call="join",outcome="ok"}`: "1",
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	for _, name := range []string{`flakeward_request_duration_seconds_count{dialect="resp"}`} {
		if got[name] == "" || got[name] == "0" {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	for _, of := range []string{"ceiling", "published"} {
		name := "flakeward_" + of + "_timestamp_seconds"
		var at float64
		_, _ = fmt.Sscan(got[name], &at)
		if off := at - float64(time.Now().Unix()); off < -60 || off > 660 {
			t.Errorf("%s is %s", name, got[name])
		}
	}
}

// TestADaemonThatHasNotBegunIsNotScraped: there is nothing to read yet.
func TestADaemonThatHasNotBegunIsNotScraped(t *testing.T) {
	d := must.Get(daemon.New(config(dir(t))))(t)
	if status, _, _ := scrape(d); status != 503 {
		t.Errorf("it answers %d", status)
	}
}

// IDs are counted by the form that was asked for, in whatever dialect. Where none was, that is the
// daemon's form; numbers and runs are integers.
func TestIDsOfEveryDialectAreCountedByTheirForm(t *testing.T) {
	found := make(chan *daemon.Daemon, 1)
	c := daemontest.Config(t.TempDir())
	c.IDs.Form = "string"
	d := daemontest.Launch(t, c, scraped(found))
	from := <-found
	d.UntilReady()
	web, calls := overSocket(t, d), rpcClients(t, d)["gRPC"]
	next := func(n uint32, as flakewardv1.Form) {
		must.Get(calls.Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{Count: n, As: as})))(t)
	}
	counted := map[string]int{}
	for _, tt := range []struct {
		what string
		form string
		n    int
		ask  func()
	}{
		{"JSON", "string", 1, func() { get(t, web, "/v1/ids") }},
		{"JSON as UUIDs", "uuid", 2, func() { get(t, web, "/v1/ids?count=2&as=uuid") }},
		{"text", "base62", 3, func() { get(t, web, "/v1/ids?count=3&as=base62", "Accept", "text/plain") }},
		{"runs", "integer", 5, func() { get(t, web, "/v1/runs?count=5") }},
		{"numbers of a call", "integer", 7, func() { next(7, flakewardv1.Form_FORM_UNSPECIFIED) }},
		{"texts of a call", "uuid", 8, func() { next(8, flakewardv1.Form_FORM_UUID) }},
		{"runs of a call", "integer", 9, func() {
			must.Get(calls.Run(t.Context(), connect.NewRequest(&flakewardv1.RunRequest{Count: 9})))(t)
		}},
	} {
		tt.ask()
		counted[tt.form] += tt.n
		_, _, got := scrape(from)
		for name, n := range counted {
			if has := got[`flakeward_ids_issued_by_form_total{form="`+name+`"}`]; has != fmt.Sprint(n) {
				t.Errorf("after %s, %s IDs are counted as %s, not %d", tt.what, has, name, n)
			}
		}
	}
}
