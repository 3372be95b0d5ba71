package metrics_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// fixture is what metrics are made of in tests.
type fixture struct {
	figures metrics.Figures
	counts  tally.Table
	events  *condition.Counts
	metrics *metrics.Metrics
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	w := &fixture{events: condition.NewCounts()}
	w.figures = metrics.Figures{Layout: layout}
	w.metrics = metrics.New(metrics.Sources{
		Version: "1.2.3", Figures: func() metrics.Figures { return w.figures }, Counts: &w.counts, Events: w.events, Clock: clockguard.System{},
	})
	return w
}

// scrape returns the metrics of the daemon's own by their names with labels.
func (w *fixture) scrape(t *testing.T) map[string]string {
	t.Helper()
	r := httptest.NewRecorder()
	w.metrics.ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	if r.Code != http.StatusOK {
		t.Fatalf("a scrape answers %d: %s", r.Code, r.Body)
	}
	values := make(map[string]string)
	for line := range strings.Lines(r.Body.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "flakeward_") {
			values[name] = value
		}
	}
	return values
}

// refusing is a source that refuses each request.
type refusing struct{ err error }

func (r refusing) Take(*issue.Connection, uint32, int) (generator.Run, issue.Wait) {
	return generator.Run{}, issue.Wait{Err: r.err}
}

// How each code comes to its metric.
var (
	lane = func(w *fixture, c condition.Code) {
		w.figures.Condition = fmt.Errorf("this one: %w", &condition.Condition{Code: c, Err: errors.New("x")})
	}
	event   = func(w *fixture, c condition.Code) { w.events.Happened(c) }
	refusal = func(err error) func(*fixture, condition.Code) {
		return func(w *fixture, _ condition.Code) {
			h := resp.NewHandler(resp.Config{Source: refusing{err}, Layout: w.figures.Layout, Count: &w.counts})
			_, _, _ = h.Serve(&resp.Session{}, []byte("NEXT\r\n"), nil)
			resp.Publish(h)
		}
	}
	reason = func(err error) func(*fixture, condition.Code) {
		return refusal(&issue.UnavailableError{Reason: err})
	}
)

// A clock that nothing bounds is no perfect one.
func TestTheErrorOfAClockThatIsNotSynchronisedHasNoBound(t *testing.T) {
	w := newFixture(t)
	for bound, clock := range map[string]metrics.Clock{"+Inf": {}, "0.25": {Synchronised: true, MaxError: 250 * time.Millisecond}} {
		w.figures.Clock = clock
		if got := w.scrape(t)["flakeward_clock_error_bound_seconds"]; got != bound {
			t.Errorf("%+v: %s, want %s", clock, got, bound)
		}
	}
}

// TestEachCodeOfTheTableChangesAMetric: a new code needs a line here, and a metric.
func TestEachCodeOfTheTableChangesAMetric(t *testing.T) {
	ways := map[condition.Code]struct {
		do     func(*fixture, condition.Code)
		metric string
	}{
		condition.TickExhausted: {reason(issue.ErrExhausted), `flakeward_requests_total{code="%s",command="NEXT",dialect="resp"}`},
		condition.CountTooLarge: {refusal(&issue.TooManyError{Count: 9}), `flakeward_requests_total{code="%s",command="NEXT",dialect="resp"}`},
		condition.UserRate:      {refusal(&issue.TooManyError{Rate: issue.Rate{PerSecond: 1}}), `flakeward_requests_total{code="%s",command="NEXT",dialect="resp"}`},
		condition.Order:         {reason(issue.ErrOrder), `flakeward_requests_total{code="%s",command="NEXT",dialect="resp"}`},
	}
	for _, c := range []condition.Code{
		condition.Starting, condition.CoordinatorGone, condition.Restored, condition.OtherCluster, condition.NoCluster, condition.ClusterExported, condition.ClaimLost, condition.MarksRaised,
		condition.LoginRefused, condition.AccessDenied, condition.WorkersTaken, condition.WorkersAhead, condition.NoWorker, condition.GrantEnded,
		condition.FloorAhead,
	} {
		ways[c] = struct {
			do     func(*fixture, condition.Code)
			metric string
		}{lane, `flakeward_in_condition{code="%s"}`}
	}
	for _, c := range []condition.Code{
		condition.HalfOver, condition.Issuing, condition.Recovered, condition.ClockHeld, condition.ClockFollowed, condition.ClockBack,
		condition.ClockBehind, condition.OutsideLayout,
	} {
		ways[c] = struct {
			do     func(*fixture, condition.Code)
			metric string
		}{event, `flakeward_events_total{code="%s"}`}
	}
	for _, e := range condition.Table {
		way, ok := ways[e.Code]
		if !ok {
			t.Errorf("no metric is known to show %s", e.Code)
			continue
		}
		w := newFixture(t)
		name := fmt.Sprintf(way.metric, e.Code)
		before := w.scrape(t)[name]
		way.do(w, e.Code)
		if after := w.scrape(t)[name]; after != "1" || before == after {
			t.Errorf("%s: %s was %q and is %q", e.Code, name, before, after)
		}
	}
}

// TestARefusalIsCountedByWhatStoppedIssuing: as its text says.
func TestARefusalIsCountedByWhatStoppedIssuing(t *testing.T) {
	w := newFixture(t)
	refusal(&issue.UnavailableError{Reason: issue.ErrCeiling, Condition: &condition.Condition{Code: condition.GrantEnded, Stopped: true, Err: errors.New("x")}})(w, "")
	refusal(errors.New("of no kind"))(w, "")
	got := w.scrape(t)
	for _, code := range []string{"grant-ended", "unavailable"} {
		if n := got[`flakeward_requests_total{code="`+code+`",command="NEXT",dialect="resp"}`]; n != "1" {
			t.Errorf("%s: %q requests", code, n)
		}
	}
}

// TestDurationsAreInTheirBuckets: each bucket has those below as well.
func TestDurationsAreInTheirBuckets(t *testing.T) {
	w := newFixture(t)
	w.counts.Durations("resp").Observe(3, 700*time.Nanosecond)
	w.counts.Durations("resp").Observe(2, 3*time.Millisecond)
	w.counts.Durations("resp").Observe(1, time.Hour)
	got := w.scrape(t)
	for name, want := range map[string]string{
		`bucket{dialect="resp",le="5e-06"}`: "3", `bucket{dialect="resp",le="0.002"}`: "3", `bucket{dialect="resp",le="0.005"}`: "5",
		`bucket{dialect="resp",le="10"}`: "5", `bucket{dialect="resp",le="+Inf"}`: "6", `count{dialect="resp"}`: "6", `sum{dialect="resp"}`: "3600.0060021",
	} {
		if n := got["flakeward_request_duration_seconds_"+name]; n != want {
			t.Errorf("%s is %q, want %s", name, n, want)
		}
	}
}

// TestThePageHasEveryMetric: docs/metrics.md and the code have the same metrics, with the same
// labels and meaning.
func TestThePageHasEveryMetric(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/metrics.md"))(t)
	rows := regexp.MustCompile("(?m)^\\| `flakeward_.*$").FindAllString(string(page), -1)
	want := metrics.Rows()
	for _, row := range want {
		if !slices.Contains(rows, row) {
			t.Errorf("docs/metrics.md does not have\n%s", row)
		}
	}
	for _, row := range rows {
		if !slices.Contains(want, row) {
			t.Errorf("docs/metrics.md has, and the code has not\n%s", row)
		}
	}
}
