package page

import (
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/tally"
)

// The history has 15 minutes and no more, however long the daemon runs.
func TestTheHistoryIsBounded(t *testing.T) {
	var table tally.Table
	var h history
	at := clockguard.Mono(0)
	h.begin(read(table.Snapshot()), at)
	second := func(ids uint64, took time.Duration) {
		at += clockguard.Mono(time.Second)
		table.IDs(tally.Issue{}).Add(ids)
		table.Requests(tally.Request{Code: tally.OK}).Add(ids)
		table.Requests(tally.Request{Code: "bad-count"}).Add(1)
		if took > 0 {
			table.Durations("resp").Observe(99, took)
			table.Durations("resp").Observe(1, 100*took)
		}
		h.add(read(table.Snapshot()), at)
	}
	second(70, time.Millisecond)
	if list := h.all(); len(list) != 1 || list[0].rate(list[0].ids) != 70 || h.last.ids != 70 || list[0].refused != 1 || list[0].median < time.Millisecond || list[0].median > 1200*time.Microsecond {
		t.Errorf("after a second: %+v", list)
	}
	for range 4 {
		second(30, 0)
	}
	if list := h.all(); len(list) != 1 || list[0].ids != 190 || list[0].passed != 5*time.Second {
		t.Errorf("after five: %+v", list)
	}
	for range 2 * cells * samplesOfACell {
		second(10, 0)
	}
	list := h.all()
	if len(list) != cells {
		t.Errorf("after half an hour: %d cells", len(list))
	}
	for _, c := range list {
		if c.ids != 50 || c.median != 0 {
			t.Fatalf("a cell is %+v", c)
		}
	}
	v := trafficOf(list, h.last)
	if len(v.Minutes) != 15 || v.Minutes[14].Rate != "10" || v.Rate != "10" || v.Top != "10" || v.Median != "–" || v.Refused != 900 || !strings.HasPrefix(v.RateFill, "M0 60L0 1") {
		t.Errorf("it is shown as %+v", v)
	}
}

func TestPlacesOnTheLine(t *testing.T) {
	for _, d := range []time.Duration{0, lineEnd, -lineEnd, 100 * lineEnd, -100 * lineEnd, 1 << 62, -1 << 63} {
		want := map[bool]float64{true: 100, false: 0}[d > 0]
		if d == 0 {
			want = 50
		}
		if got := place(d); got != want {
			t.Errorf("%v is at %v, want %v", d, got, want)
		}
	}
	if a, b := place(500*time.Millisecond), place(time.Second); a >= b || b-a < 2 {
		t.Errorf("half a second and a second ahead are at %v and %v", a, b)
	}
}

func TestNumbersForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 99.5: "99.5", 100: "100", 999: "999", 1234: "1.23 k", 4_096_000: "4.1 M", 2e9: "2 G"} {
		if got := number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	for years, want := range map[float64]string{68.7: "68 years", 2: "2 years", 1.999: "730 days", 0.5: "182 days", 0: "0 days"} {
		if got := left(years); got != want {
			t.Errorf("%v years are %q, want %q", years, got, want)
		}
	}
	for highest, want := range map[float64]float64{0: 1, 0.3: .5, 1: 1, 1.1: 2, 4096: 5000, 5001: 10000} {
		if got := top(highest); got < want*.999 || got > want*1.001 {
			t.Errorf("%v is below %v, want %v", highest, got, want)
		}
	}
}

// An event that goes on is one entry, and the log has an end.
func TestWhatHappenedIsBounded(t *testing.T) {
	s := newStage(t)
	var e events
	look := func(pass time.Duration) {
		s.clock.Advance(pass)
		e.look(s.config.Figures(), s.events)
	}
	e.begin(s.config.Figures(), s.events)
	for range 30 {
		s.answers += 3
		look(time.Second)
	}
	if len(e.list) != 1 || e.list[0].n != 90 || e.list[0].code != "guard-ring" {
		t.Errorf("the guard's answers are %+v", e.list)
	}
	s.worker = 9
	s.events.Happened(condition.ClaimLost)
	s.events.Happened(condition.CoordinatorGone)
	look(time.Second)
	if n := len(e.list); n != 4 || e.list[n-1].text != "lane 0 went from worker ID 7 to 9" {
		t.Errorf("a re-lease is %+v", e.list)
	}
	for _, of := range e.list {
		if (of.do != "") != (of.code == string(condition.CoordinatorGone) || of.code == string(condition.ClaimLost)) {
			t.Errorf("%s has to do: %q", of.code, of.do)
		}
	}
	for range 3 * mostEntries {
		s.answers++
		look(time.Minute)
	}
	if len(e.list) != mostEntries {
		t.Errorf("%d entries are kept", len(e.list))
	}
	var f metrics.Figures
	e.look(f, nil) // a daemon without lanes, and nobody who counts
}
