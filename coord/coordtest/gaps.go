package coordtest

import (
	"errors"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// A record keeps what nobody was granted, and a claim whose time lies there may be. The window of
// these cases is 10 ticks.
var gaps = []testCase{
	{"gaps: a leap leaves one, and a later claim is granted it", gapLeft},
	{"gaps: no grant passes the end", gapEnds},
	{"gaps: what is granted of one is granted once", gapGrantedOnce},
	{"gaps: a release puts back what was not issued", gapReleased},
	{"gaps: a claim that continues keeps the end", gapContinued},
	{"gaps: a claim does not continue where its time is elsewhere", gapElsewhere},
	{"gaps: a raise voids what lies below", gapRaised},
	{"gaps: the four widest are kept", gapsWidest},
	{"gaps: the history names who issued in one", gapRemembered},
}

const gapWindow = 10

// at is the request at a time.
func at(tick generator.Tick, r coord.Request) coord.Request {
	r.At, r.Latest = tick, tick
	return r
}

// gapped has worker ID 1 granted up to 110, and from 4999 to 5010 by one whose time was wrong. What
// lies between is free, as is what was before its first claim.
func (k *kit) gapped() {
	k.Helper()
	k.largest = gapWindow
	n := k.start("first")
	k.extend(n.claim(at(100, wanting(1))), coord.Progress{Ceiling: 110})
	k.revoke(n)
	n = k.start("ahead")
	k.extend(n.claim(at(5000, wanting(1))), coord.Progress{Ceiling: 5010, Issued: 5001, Mark: 5002})
	k.revoke(n)
}

// gap claims worker ID 1, wherever that is.
func (k *kit) gap(n *node, r coord.Request, floor, until generator.Tick) coord.Claim {
	k.Helper()
	r.Latest = 1 << 40
	c := n.claim(r)
	if c.Worker() != 1 || c.Floor() != floor || c.Until() != until {
		k.Fatalf("worker ID %d above %d until %d, want 1 above %d until %d", c.Worker(), c.Floor(), c.Until(), floor, until)
	}
	return c
}

// has compares worker ID 1's record.
func (k *kit) has(ceiling generator.Tick, want ...coord.Gap) {
	k.Helper()
	o := k.operator()
	if m, _ := k.mark(o, 1); m.Ceiling != ceiling || !slices.Equal(m.Gaps, want) {
		k.Errorf("the record is %+v, want the ceiling %d and the gaps %v", m, ceiling, want)
	}
	Close(k, o)
}

func gapLeft(k *kit) {
	k.gapped()
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 110, To: 4999})
	n := k.start("a")
	c := k.gap(n, at(115, wanting(1)), 110, 4999)
	if c.Continues() {
		k.Error("a stranger continues")
	}
	k.extend(c, coord.Progress{Ceiling: 125, Issued: 116, Mark: 120})
	if m, _ := n.member(1); m.Ceiling != 125 || m.Until != 4999 || m.Issued != 116 || m.Mark != 120 {
		k.Errorf("the member is %+v", m)
	}
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 125, To: 4999})
	// Another one at the wrong time issues above what was granted there, and a leap in a gap leaves one.
	k.revoke(n)
	n = k.start("ahead")
	k.gap(n, at(5005, wanting(1)), 5010, 0)
	k.revoke(n)
	n = k.start("later")
	k.extend(k.gap(n, at(3000, wanting(1)), 2999, 4999), coord.Progress{Ceiling: 3010})
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 125, To: 2999}, coord.Gap{From: 3010, To: 4999})
}

func gapEnds(k *kit) {
	k.gapped()
	n := k.start("a")
	c := k.gap(n, at(4980, wanting(1)), 4979, 4999)
	k.extend(c, coord.Progress{Ceiling: 4990})
	if err := c.Extend(k.Context(), coord.Progress{Ceiling: 5000}); err == nil || errors.Is(err, coord.ErrLost) {
		k.Errorf("a grant past the end: %v, want an error that does not end the claim", err)
	}
	k.extend(c, coord.Progress{Ceiling: 4999})
	k.extend(c, coord.Progress{Ceiling: 4999, Issued: 4995, Mark: 4999})
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 110, To: 4979})
	// Where less than a window is left, the next place is better.
	k.revoke(n)
	k.gap(k.start("b"), at(4970, wanting(1)), 5010, 0)
}

func gapGrantedOnce(k *kit) {
	k.gapped()
	a, b := k.start("a"), k.start("b")
	first := k.gap(a, at(115, wanting(1)), 110, 4999)
	k.extend(first, coord.Progress{Ceiling: 125})
	k.revoke(a)
	second := k.gap(b, at(118, wanting(1)), 125, 4999)
	if err := first.Extend(k.Context(), coord.Progress{Ceiling: 130}); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Extend under a lost claim: %v, want ErrLost", err)
	}
	k.extend(second, coord.Progress{Ceiling: 130})
	k.revoke(b)
	k.gap(k.start("c"), at(118, wanting(1)), 130, 4999)
}

func gapReleased(k *kit) {
	k.gapped()
	n := k.start("a")
	c := k.gap(n, at(115, wanting(1)), 110, 4999)
	k.extend(c, coord.Progress{Ceiling: 125, Issued: 116})
	k.release(c, 118)
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 118, To: 4999})
	// What was used up to its end is put back, and a leap that issued nothing leaves no trace.
	c = k.gap(n, at(4985, wanting(1)), 4984, 4999)
	k.extend(c, coord.Progress{Ceiling: 4999})
	k.release(c, 4984)
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 118, To: 4999})
	c = k.gap(n, at(9000, wanting(1)), 8999, 0)
	k.extend(c, coord.Progress{Ceiling: 9010})
	k.release(c, 8999)
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 118, To: 4999})
	// A release goes no lower than what others were granted.
	c = k.gap(n, at(120, wanting(1)), 118, 4999)
	k.extend(c, coord.Progress{Ceiling: 125})
	k.release(c, 50)
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 118, To: 4999})
}

func gapContinued(k *kit) {
	k.gapped()
	n := k.start("a")
	first := k.gap(n, at(115, wanting(1)), 110, 4999)
	k.extend(first, coord.Progress{Ceiling: 125, Issued: 116, Mark: 120})
	k.revoke(n)
	back := k.gap(n, at(122, continuing(first, 121)), 125, 4999)
	if !back.Continues() {
		k.Fatal("does not continue")
	}
	if err := back.Extend(k.Context(), coord.Progress{Ceiling: 5100}); err == nil {
		k.Error("a grant past the end after a continue")
	}
	k.extend(back, coord.Progress{Ceiling: 132, Issued: 130, Mark: 131})
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 132, To: 4999})
	k.release(back, 130)
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 130, To: 4999})
	// Its end, used up, is the end all the same.
	last := k.gap(n, at(4985, wanting(1)), 4984, 4999)
	k.extend(last, coord.Progress{Ceiling: 4999, Mark: 4990})
	k.revoke(n)
	if c := k.gap(n, at(4990, continuing(last, 4990)), 4999, 4999); !c.Continues() {
		k.Error("does not continue with all of a gap granted")
	}
}

func gapElsewhere(k *kit) {
	k.gapped()
	n := k.start("a")
	first := k.gap(n, at(115, wanting(1)), 110, 4999)
	k.extend(first, coord.Progress{Ceiling: 125, Issued: 116, Mark: 120})
	for _, test := range []struct {
		name         string
		at, floor    generator.Tick
		until        generator.Tick
		continues    bool
		latest, mark generator.Tick
	}{
		{"a window past what it was granted", 136, 125, 4999, true, 136, 120},
		{"further: a leap", 137, 136, 4999, false, 137, 130},
		{"past the end", 6000, 5999, 0, false, 6000, 6000},
		{"its mark is too far ahead, and there is room before", 60, 59, 99, false, 60, 6000},
	} {
		k.revoke(n)
		drops := 0
		r := at(test.at, continuing(first, test.mark))
		r.Latest = test.latest
		c := n.claimWith(r, Drops(&drops))
		if c.Worker() != 1 || c.Continues() != test.continues || c.Floor() != test.floor || c.Until() != test.until || (drops == 0) != test.continues {
			k.Errorf("%s: worker ID %d, continues %v above %d until %d, dropped %d times; want %+v", test.name, c.Worker(), c.Continues(), c.Floor(), c.Until(), drops, test)
		}
		k.extend(c, coord.Progress{Ceiling: c.Floor(), Mark: c.Floor()})
		first = c
	}
}

func gapRaised(k *kit) {
	k.gapped()
	n, o := k.start("a"), k.operator()
	c := k.gap(n, at(115, wanting(1)), 110, 4999)
	k.extend(c, coord.Progress{Ceiling: 125, Mark: 120})
	k.raise(o, 3000)
	if err := c.Extend(k.Context(), coord.Progress{Ceiling: 130}); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Extend after the raise: %v, want ErrLost", err)
	}
	k.has(5010, coord.Gap{From: 3000, To: 4999})
	k.revoke(n)
	drops := 0
	r := at(126, continuing(c, 120))
	r.Latest = 1 << 40
	back := n.claimWith(r, Drops(&drops))
	if back.Worker() != 1 || back.Continues() || back.Floor() != 3000 || back.Until() != 4999 || drops == 0 {
		k.Errorf("back: worker ID %d, continues %v above %d until %d, dropped %d times; want 1 above 3000 until 4999", back.Worker(), back.Continues(), back.Floor(), back.Until(), drops)
	}
	k.raise(o, 6000)
	k.has(6000)
}

func gapsWidest(k *kit) {
	k.largest = gapWindow
	var n *node
	for _, tick := range []generator.Tick{1000, 1500, 4000, 9000, 9100, 20000} {
		n = k.start("a")
		c := n.claim(at(tick, wanting(1)))
		k.extend(c, coord.Progress{Ceiling: c.Floor() + 11})
		k.revoke(n)
	}
	k.has(20010, coord.Gap{From: 0, To: 999}, coord.Gap{From: 1510, To: 3999}, coord.Gap{From: 4010, To: 8999}, coord.Gap{From: 9110, To: 19999})
	// What was dropped counts as granted.
	k.gap(k.start("b"), at(1200, wanting(1)), 1510, 3999)
}

func gapRemembered(k *kit) {
	k.gapped()
	a, o := k.start("a"), k.operator()
	var issues []issue
	first := k.gap(a, at(115, wanting(1)), 110, 4999)
	k.extend(first, coord.Progress{Ceiling: 125})
	issues = append(issues, issue{110, 125, a, first})
	k.revoke(a)
	b := k.start("b")
	second := k.gap(b, at(400, wanting(1)), 399, 4999)
	k.extend(second, coord.Progress{Ceiling: 410})
	issues = append(issues, issue{399, 410, b, second})
	k.revoke(b)
	c := k.start("c")
	third := k.gap(c, at(6000, wanting(1)), 5999, 0)
	k.extend(third, coord.Progress{Ceiling: 6010})
	issues = append(issues, issue{5999, 6010, c, third})
	k.check(o, 1, issues)
	if got := holder(k.history(o, 1), 5005); got.Host != "ahead" {
		k.Errorf("tick 5005 is %+v's", got)
	}
	if got := holder(k.history(o, 1), 105); got.Host != "first" {
		k.Errorf("tick 105 is %+v's", got)
	}
}
