package grant_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

// holds is how a line begins that names the worker ID that a lane has from now on.
const holds = "holds a worker ID: "

// lineAfter has the process hold until its log has so many of these lines, and returns the last.
func lineAfter(t *testing.T, p *process, log *logtest.Buffer, n int) string {
	t.Helper()
	for strings.Count(log.String(), holds) < n {
		p.clock.BlockUntil(1)
		p.clock.Advance(step / 4)
	}
	text := log.String()
	line, _, _ := strings.Cut(text[strings.LastIndex(text, holds):], "\n")
	return line
}

// run has the process hold and renew until the test ends.
func run(t *testing.T, p *process) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Hold(ctx) }()
	t.Cleanup(func() {
		stop()
		must.Do(t, <-ended)
	})
}

func TestEachChangeOfAWorkerIDIsLoggedWithItsReason(t *testing.T) {
	for why, change := range map[string]func(w *fixture, p *process){
		"claim-lost":   func(_ *fixture, p *process) { p.passedOn() },
		"marks-raised": func(w *fixture, _ *process) { w.raise(w.tick() + 10) },
		"clock-behind": func(w *fixture, p *process) {
			w.clock.Step(-time.Hour)
			p.ReLease(p.inUse())
		},
	} {
		t.Run(why, func(t *testing.T) {
			w, log := newFixture(t), &logtest.Buffer{}
			h := w.host("J")
			h.log = log.At(hclog.Info)
			p := h.boot()
			p.attach()
			run(t, p)
			if line := lineAfter(t, p, log, 1); strings.Contains(line, "why=") || strings.Contains(line, "was=") {
				t.Errorf("the first worker ID is logged as %q", line)
			}
			w.clock.BlockUntil(1)
			change(w, p)
			if line := lineAfter(t, p, log, 2); !strings.Contains(line, " why="+why) {
				t.Errorf("a worker ID is logged as %q, want why=%s", line, why)
			}
		})
	}
}

// A claim that is gone is made again for the same worker ID, and the lane goes on. That is said,
// and counted.
func TestAClaimThatIsMadeAgainIsSaid(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		log, events := &logtest.Buffer{}, condition.NewCounts()
		h := w.host("J")
		h.log, h.events = log.At(hclog.Info), events
		p := h.start()
		p.issueAll()
		lane, before := p.inUse(), p.Holding()
		for n := range uint64(2) {
			was := p.Holding()
			p.revoke()
			w.clock.Advance([]time.Duration{window / 4, 2*window - wait}[n]) // the second time, its grant has ended
			must.Do(t, p.Publish(t.Context()))
			now := p.Holding()
			if now.Claim == was.Claim || !now.Claimed || now.Worker != before.Worker || now.Opening != before.Opening || now.Granted <= was.Granted || p.inUse() != lane {
				t.Errorf("goes on with %+v, had %+v; in the same lane: %v", now, was, p.inUse() == lane)
			}
			if got := events.Of(condition.ClaimLost); got != n+1 || strings.Count(log.String(), "[WARN]") != int(n)+1 || !strings.Contains(log.String(), "code=claim-lost worker=0 claim="+now.Claim) {
				t.Errorf("the %d. loss is counted %d times, and the log says\n%s", n+1, got, log)
			}
			p.issues()
		}
	})
}

// A stop says what kept the daemon from releasing its worker ID: the coordinator, if it was.
func TestAStopSaysWhyTheWorkerIDIsNotReleased(t *testing.T) {
	for code, before := range map[string]func(p *process){
		"claim-lost":       func(p *process) { p.passedOn() },
		"coordinator-gone": func(p *process) { p.coord.before = func(string) error { return errCut } },
		"":                 func(*process) {},
	} {
		w, log := newFixture(t), &logtest.Buffer{}
		h := w.host("J")
		h.log = log.At(hclog.Info)
		p := h.start()
		before(p)
		must.Do(t, p.Shut(t.Context()))
		text := log.String()
		if code == "" {
			if strings.Contains(text, "[WARN]") || !strings.Contains(text, "released the worker ID") {
				t.Errorf("a stop with a healthy coordinator says\n%s", text)
			}
			continue
		}
		if !strings.Contains(text, "the worker ID is not released") || !strings.Contains(text, " code="+code+" ") ||
			strings.Contains(text, "does not answer") {
			t.Errorf("%s: the stop says\n%s", code, text)
		}
	}
}

// A start after a stop in order has nothing to go on from, and warns of nothing.
func TestAStartAfterAStopInOrderWarnsOfNothing(t *testing.T) {
	for _, issues := range []bool{false, true} {
		w, log := newFixture(t), &logtest.Buffer{}
		h := w.host("J")
		h.log = log.At(hclog.Info)
		p := h.start()
		if issues {
			w.clock.Advance(time.Millisecond)
			p.take()
		}
		must.Do(t, p.Shut(t.Context()))
		p.crash()
		w.clock.Advance(3 * time.Second)
		again := h.start()
		if again.worker() != p.worker() || strings.Contains(log.String(), "[WARN]") {
			t.Errorf("issues %v: worker ID %d after %d, and the log says\n%s", issues, again.worker(), p.worker(), log)
		}
	}
}
