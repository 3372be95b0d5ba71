package generator_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// Not promised: a generator of another kind that uses a worker ID of ours issues our IDs.
func TestNotPromisedAnotherGeneratorWithOurWorkerID(t *testing.T) {
	layout := must.Get(generator.ParseLayout("twitter"))(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tick := layout.TickAt(now.UnixNano())
	lane := must.Get(generator.NewLane(layout, 3, 7, tick-1))(t)
	lane.Raise(tick)
	ours, outcome := lane.Take(0, tick, 1)
	theirs := (now.UnixMilli()-1288834974657)<<22 | 3<<17 | 7<<12 // as Twitter's Snowflake of 2010 has it
	if ours.First != theirs {
		t.Errorf("ours is %d (%v) and theirs %d: this could be promised", ours.First, outcome, theirs)
	}
}
