package metrics_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

const mostUsers = 32 // that are shown by themselves

// commandsOf are the commands of RESP, as a client lists them.
func commandsOf(w *fixture) (all []string) {
	h := resp.NewHandler(resp.Config{Source: refusing{}, Layout: w.figures.Layout})
	_, reply, _ := h.Serve(&resp.Session{}, []byte("COMMAND LIST\r\n"), nil)
	for _, m := range regexp.MustCompile(`\r\n([a-z]+)`).FindAllSubmatch(reply, -1) {
		all = append(all, strings.ToUpper(string(m[1])))
	}
	return all
}

// httpCommands are those of HTTP and gRPC.
var httpCommands = []string{
	"ids", "runs", "decode", "bounds", "status", "layout", "cluster", "openapi", "livez", "readyz", "metrics", "page", "other", "next", "run", "stream",
	"health",
}

// callAll makes each call of the coordinator, some of which end with err.
func (w *fixture) callAll(ctx context.Context, err error) {
	f := &fake{err: err}
	c := w.metrics.Coordinator(fakeCoordinator{f})
	_, _ = c.Join(ctx, coord.Layout{})
	_, _ = c.Look(ctx)
	_, _ = c.Members(ctx)
	claim, _ := c.Claim(ctx, coord.Request{})
	_ = claim.Extend(ctx, coord.Progress{})
	_ = claim.Release(ctx, generator.Last{})
}

// fill makes everything appear that can: IDs were issued in each form, each command was
// served and refused for each reason, each call of the coordinator has ended in each way, and as
// many users as are shown have taken IDs.
func (w *fixture) fill(t testing.TB) {
	t.Helper()
	now := time.Now().UnixNano()
	w.figures.Now = clockguard.Reading{Wall: now}
	w.figures.Cluster = metrics.Cluster{ID: "01234567-89ab-7def-8123-456789abcdef", UniqueWithin: "cluster", Datacenter: 31, Workers: 1024}
	tick := w.figures.Layout.TickAt(now)
	w.figures.Serves, w.figures.Holding = true, grant.Holding{Worker: 1023, Issued: tick, Granted: tick, Published: now, Claims: 1}
	for _, name := range form.Names() {
		w.counts.IDs(name).Add(1e15)
	}
	commands := commandsOf(w)
	if len(commands) < 20 {
		t.Fatalf("the commands are %v", commands)
	}
	codes := []string{tally.Gone} // and all that there are: no dialect has more
	for _, e := range condition.Table {
		w.events.Happened(e.Code)
		codes = append(codes, string(e.Code))
	}
	for k := resp.UnknownCommand; k <= resp.BrokenFrame; k++ {
		codes = append(codes, resp.Refuse(k, 0, 0).Code)
	}
	for dialect, commands := range map[string][]string{"resp": commands, "http": httpCommands} {
		for _, command := range commands {
			w.counts.Requests(tally.Request{Dialect: dialect, Command: command, Code: tally.OK}).Add(1e15)
		}
		for _, code := range codes {
			w.counts.Requests(tally.Request{Dialect: dialect, Command: commands[0], Code: code}).Add(1e15)
		}
	}
	for i := range 30 {
		w.counts.Durations("resp").Observe(1e9, time.Microsecond<<i)
		w.counts.Durations("http").Observe(1e9, time.Microsecond<<i)
	}
	w.figures.Answers, w.figures.Waits = make(map[clockguard.Answer]uint64), map[string]uint64{"rate": 1e15}
	for _, of := range issue.WaitsFor() {
		w.figures.Waits[of.String()] = 1e15
	}
	for i := range mostUsers {
		w.figures.Limits.Users = append(w.figures.Limits.Users, issue.Usage{UID: uint32(4e9 + i), IDs: 1e15})
	}
	for _, err := range []error{
		nil, coord.ErrRaised, coord.ErrLost, &coord.ExhaustedError{}, &coord.AheadError{}, &coord.RestoredError{},
		coord.ErrOtherCluster, &coord.LayoutError{}, context.DeadlineExceeded, context.Canceled, errors.New("x"),
	} {
		w.callAll(t.Context(), err)
	}
}

// TestAScrapeInUseIsSmall: whatever has happened before.
func TestAScrapeInUseIsSmall(t *testing.T) {
	w := newFixture(t)
	w.fill(t)
	r := httptest.NewRecorder()
	w.metrics.ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	if r.Code != 200 || r.Body.Len() > 48_000 {
		sizes := make(map[string]int)
		for line := range strings.Lines(r.Body.String()) {
			line = strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
			sizes[line[:strings.IndexAny(line, "{ ")]] += len(line)
		}
		t.Errorf("status %d; a scrape has %d bytes, at most 48,000 are allowed: %v", r.Code, r.Body.Len(), sizes)
	}
	t.Logf("%d bytes", r.Body.Len())
}
