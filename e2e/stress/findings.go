package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/e2e/load"
)

// findings is what the kills came to.
type findings struct {
	Seed        uint64
	Clients     int
	Kills       int // under load
	StartKills  int
	Stops       int
	StepsBefore int
	StepsDuring int
	Counts      load.Counts
	Unanswered  int
	Torn        int
	Wrong       []string
	Verdict     received.Verdict
	Workers     int // worker IDs that IDs came from
	Duplicates  received.Duplicates
	Places      []string // of duplicates
	restarts    []restart
	fresh       time.Duration // from the first start to the first ID
}

// restart is how long a daemon took from its start to the first ID, and after what.
type restart struct {
	took     time.Duration
	life     uint32
	from, to time.Duration // the clock's offset before and at the start
}

func (f *findings) note(l life, s served) {
	switch l.End {
	case killedUnderLoad:
		f.Kills++
	case stopped:
		f.Stops++
	}
	switch l.Step {
	case before:
		f.StepsBefore++
	case during:
		f.StepsDuring++
	}
	f.Counts.Add(s.Counts)
	f.Unanswered += s.Unanswered
	f.Torn += s.Torn
	f.Wrong = append(f.Wrong, s.Wrong...)
}

func (f *findings) restart(number uint32, l life, from, took time.Duration) {
	switch {
	case took == 0:
	case number == 1:
		f.fresh = took
	default:
		to := from
		if l.Step == before {
			to = l.Offset
		}
		f.restarts = append(f.restarts, restart{took, number, from, to})
	}
}

// longest is the longest restart; its zero value if there was none.
func (f *findings) longest() restart {
	var longest restart
	for _, r := range f.restarts {
		if r.took > longest.took {
			longest = r
		}
	}
	return longest
}

func (f *findings) medianRestart() time.Duration {
	all := make([]time.Duration, len(f.restarts))
	for i, r := range f.restarts {
		all[i] = r.took
	}
	return median(all)
}

// median is 0 of none.
func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// verdict is an error if a promise was broken. A limit of 0 is none.
func (f *findings) verdict(limit time.Duration) error {
	var errs []error
	count := func(n uint64, what string) {
		if n > 0 {
			errs = append(errs, fmt.Errorf("%d %s", n, what))
		}
	}
	count(f.Duplicates.Repeated, "duplicates")
	count(f.Verdict.Bad(), "violations in the lives")
	count(uint64(f.Unanswered), "accepted requests that a clean stop left unanswered")
	count(uint64(f.Torn), "replies that a clean stop left half-sent")
	count(uint64(len(f.Wrong)), "replies that were wrong")
	if f.Duplicates.IDs != f.Counts.IDs() || f.Verdict.IDs != f.Counts.IDs() {
		errs = append(errs, fmt.Errorf("the evidence is not whole: %d IDs were received, %d judged, %d compared", f.Counts.IDs(), f.Verdict.IDs, f.Duplicates.IDs))
	}
	if r := f.longest(); limit > 0 && r.took > limit {
		errs = append(errs, fmt.Errorf("the restart of life %d took %v, the limit is %v", r.life, r.took, limit))
	}
	if len(errs) > 0 {
		return fmt.Errorf("seed %d: %w", f.Seed, errors.Join(errs...))
	}
	return nil
}

func (f *findings) print(out io.Writer, limit time.Duration) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, value any, remark string, args ...any) {
		fmt.Fprintf(w, "%s\t%v\t%s\n", name, value, fmt.Sprintf(remark, args...))
	}
	v := f.Verdict
	row("KILL STRESS", "", "seed %d, %d clients, layout %s", f.Seed, f.Clients, layoutName)
	row("kills", f.Kills, "under load, and %d at the start", f.StartKills)
	row("clock steps", f.StepsBefore+f.StepsDuring, "to somewhere from %v to +%v: %d between two lives, %d under load", lowestOffset, highestOffset, f.StepsBefore, f.StepsDuring)
	row("clean stops", f.Stops, "exit code 0; accepted requests unanswered: %d, replies half-sent: %d", f.Unanswered, f.Torn)
	row("IDs", f.Duplicates.IDs, "kept and compared; by NEXT %d, by NEXT %d %d, by RUN %d %d", f.Counts.Singles, load.BatchIDs, f.Counts.Batches, load.RunIDs, f.Counts.Runs)
	row("worker IDs", f.Workers, "that they came from")
	row("duplicates", f.Duplicates.Repeated, "")
	row("above the mark", v.AboveMark, "of %d IDs whose worker ID the journal named at the end of the life", v.Marked)
	row("marks above the grant", v.AboveGrant, "")
	row("marks below earlier IDs", v.MarksLowered, "")
	row("ticks shared by two lives", v.TicksShared, "")
	row("IDs below earlier ones", v.Lowered, "where the worker ID is not issued from in a gap")
	row("descents", v.Descents, "on one connection, while no clock was stepped")
	row("refused", f.Counts.Refused, "as UNAVAILABLE; wrong replies: %d", len(f.Wrong))
	r := f.longest()
	bound := "no limit"
	if limit > 0 {
		bound = fmt.Sprintf("limit %v", limit)
	}
	row("longest restart", r.took.Round(time.Millisecond), "%s; median %v; to the first ID in life %d, the clock off by %v, before by %v",
		bound, f.medianRestart().Round(time.Millisecond), r.life, r.to.Round(time.Millisecond), r.from.Round(time.Millisecond))
	row("first start", f.fresh.Round(time.Millisecond), "on a new state directory")
	_ = w.Flush()
	for _, line := range slices.Concat(v.Examples, f.Places, f.Wrong) {
		fmt.Fprintln(out, " ", strings.TrimSpace(line))
	}
}
