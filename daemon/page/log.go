package page

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/metrics"
)

const (
	mostEntries = 40               // that are kept
	sameFor     = 10 * time.Second // in which an event that recurs is one entry
)

// entry is something that has happened.
type entry struct {
	at   time.Time // known time, of the last time that it has
	code string
	text string
	do   string // what an operator can do; empty: nothing
	n    uint64 // how often
}

// events is what has happened, found by comparing one second with the one before. Its owner guards
// it.
type events struct {
	list    []entry // the newest last
	answers map[clockguard.Answer]uint64
	steps   clockguard.Steps
	counts  map[condition.Code]uint64
	workers map[int]int // by lane: the worker ID that it had last
}

// answered is what the guard has done, by its answer.
var answered = map[clockguard.Answer]string{
	clockguard.Sleep:    "requests slept until the clock had come to the last ID's tick",
	clockguard.Ring:     "requests got numbers that earlier ticks had left",
	clockguard.ReLease:  "the clock was too far behind: another worker ID was asked for",
	clockguard.Backfill: "the coordinator was away: requests got what any tick of the grant had left",
	clockguard.Wait:     "requests waited for the clock, or were refused",
}

// look compares what is known now. It reports whether a lane has another worker ID.
func (e *events) look(f metrics.Figures, happened *condition.Counts) (moved bool) {
	now := time.Unix(0, f.Now.Wall)
	counts := make(map[condition.Code]uint64, len(condition.Table))
	for _, of := range condition.Table {
		counts[of.Code] = happened.Of(of.Code)
		e.add(now, string(of.Code), of.Happened, of.Do, counts[of.Code]-e.counts[of.Code])
	}
	e.add(now, "clock-step", "the clock stepped ahead", "", f.Clock.Steps.Ahead-e.steps.Ahead)
	e.add(now, "clock-step", "the clock stepped back", "", f.Clock.Steps.Back-e.steps.Back)
	for a := clockguard.Sleep; a <= clockguard.Wait; a++ {
		e.add(now, "guard-"+a.String(), answered[a], "", f.Answers[a]-e.answers[a])
	}
	if e.workers == nil {
		e.workers = map[int]int{}
	}
	for _, l := range f.Lanes {
		worker := l.Holding.Worker
		if worker == coord.AnyWorker {
			continue
		}
		if before, had := e.workers[l.Number]; had && before != worker {
			e.add(now, "re-lease", fmt.Sprintf("lane %d went from worker ID %d to %d", l.Number, before, worker), "", 1)
			moved = true
		}
		e.workers[l.Number] = worker
	}
	e.answers, e.steps, e.counts = f.Answers, f.Clock.Steps, counts
	return moved
}

// add notes something that has happened n times since the last look.
func (e *events) add(now time.Time, code, text, do string, n uint64) {
	if n == 0 {
		return
	}
	if do == "nothing" {
		do = ""
	}
	for i := len(e.list) - 1; i >= 0; i-- {
		// The clock may have stepped back since.
		if of := &e.list[i]; of.code == code && of.text == text && now.Sub(of.at).Abs() <= sameFor {
			same := *of
			same.at, same.n = now, same.n+n
			e.list = append(append(e.list[:i:i], e.list[i+1:]...), same)
			return
		}
	}
	e.list = append(e.list, entry{now, code, text, do, n})
	e.list = e.list[max(0, len(e.list)-mostEntries):]
}

// begin takes what has been counted before for known.
func (e *events) begin(f metrics.Figures, happened *condition.Counts) {
	e.look(f, happened)
	e.list = nil
}
