//go:build drill

package generator

import (
	"strings"
	"testing"
	"time"
)

// stretchAll holds each Take for so long.
func stretchAll(t *testing.T, long time.Duration) {
	t.Helper()
	before := stretched
	t.Cleanup(func() { stretched = before })
	var err error
	if stretched, err = parseStretch("1/" + long.String()); err != nil {
		t.Fatal(err)
	}
}

// TestDrillALaneClosedWhileATakeIsStretched: the Take comes back after the lane was closed, and gives nothing out. If this
// goroutine was too slow to close before that, the tick that is given is in what Close returns.
func TestDrillALaneClosedWhileATakeIsStretched(t *testing.T) {
	l, err := ParseLayout("flakeward")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := NewLane(l, 0, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	ln.Raise(1000)
	if run, out := ln.Take(0, 500, 1); out != Issued || run.N != 1 {
		t.Fatalf("a Take without a stretch: %v, %v", run, out)
	}
	stretchAll(t, 50*time.Millisecond)
	done := make(chan struct{})
	var run Run
	var out Outcome
	go func() {
		defer close(done)
		run, out = ln.Take(0, 600, 1)
	}()
	// The Take has counted itself when it is held.
	for stretched.firsts.Load() == 0 {
		select {
		case <-done:
			t.Fatal("the Take was not held")
		default:
		}
	}
	last := ln.Close()
	<-done
	if out == Closed && run == (Run{}) && last == 500 || out == Issued && last == 600 {
		return
	}
	t.Errorf("the stretched Take of tick 600 gave %v, %v, and Close %d", run, out, last)
}

func TestDrillTheTakesThatAreStretched(t *testing.T) {
	l, err := ParseLayout("flakeward")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := NewLane(l, 0, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	ln.Raise(10)
	stretchAll(t, time.Nanosecond)
	for _, tick := range []Tick{1, 1, 2, 11, 5, 5, 2} {
		ln.Take(0, tick, 1)
	}
	if n := stretched.firsts.Load(); n != 3 {
		t.Errorf("%d Takes were stretched, want the first of ticks 1, 2 and 5", n)
	}
}

func TestDrillParseStretch(t *testing.T) {
	for text, says := range map[string]string{
		"": "", "100/50ms": "", "1/1h": "",
		"0/50ms": "100/50ms", "-1/50ms": "100/50ms", "50ms": "100/50ms", "1/": "100/50ms", "1/0s": "100/50ms", "x/y": "100/50ms",
	} {
		s, err := parseStretch(text)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
	before, errBefore := stretched, stretchedErr
	defer func() { stretched, stretchedErr = before, errBefore }()
	if _, stretchedErr = parseStretch("nonsense"); stretchedErr == nil {
		t.Fatal("nonsense was accepted")
	}
	l, err := ParseLayout("flakeward")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLane(l, 0, 1, 0); err != stretchedErr {
		t.Errorf("NewLane: %v, want %v", err, stretchedErr)
	}
}
