package daemon

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A lane that issues behind its highest ID does so by what its own process remembers: nobody takes over
// until the clock has passed that ID.
func TestAClockThatIsBehindPutsATakeoverOff(t *testing.T) {
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	manual := clocktest.NewManual(layout.Epoch().Add(1000 * time.Hour))
	l := &lane{layout: layout, issuer: issue.New(layout, manual, issue.Limits{}, nil)}
	behind := func() error { return l.behind(manual.Now(), 5*time.Millisecond) }
	if err := behind(); err != nil {
		t.Errorf("without a lane: %v", err)
	}
	of := must.Get(generator.NewLane(layout, 0, 1, 0))(t)
	now := layout.TickAt(manual.Now().Wall)
	of.Raise(now + 1000)
	l.issuer.Use(of)
	if _, out := of.Take(0, now, 1); out != generator.Issued {
		t.Fatal(out)
	}
	if err := behind(); err != nil {
		t.Errorf("at the last ID's tick: %v", err)
	}
	manual.Step(-time.Second)
	if err := behind(); err == nil {
		t.Error("a second behind, and it hands over")
	}
	manual.Advance(time.Second)
	if err := behind(); err != nil {
		t.Errorf("the clock has passed the last ID: %v", err)
	}
}
