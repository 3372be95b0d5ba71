package coordtest

import (
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// The window is the cluster's: an operator sets it, whoever writes next learns it and keeps its
// claim, and the longest that it ever was stays in the record.
func windows(k *kit) {
	k.largest = 600
	n, o := k.start("a"), k.operator()
	if got := n.Known().Window; got != 600 {
		k.Fatalf("joined with a window of %d, want 600", got)
	}
	c := n.claim(wanting(1))
	longest := generator.Tick(600)
	for _, window := range []generator.Tick{100, 100, 9000, 601} {
		must.Do(k, o.SetWindow(k.Context(), window))
		longest = max(longest, window)
		if got := k.inspected(); got.Window != window || got.Longest != longest {
			k.Errorf("set to %d, the window is %d and the longest %d, want %d", window, got.Window, got.Longest, longest)
		}
		k.extend(c, coord.Progress{Ceiling: c.Floor() + 500 + window})
		if got := n.Known().Window; got != window {
			k.Errorf("set to %d, a holder that has written knows of %d", window, got)
		}
	}
	k.raise(o, 20_000)
	if got := k.inspected(); got.Window != 601 || got.Longest != 9000 || got.Floor != 20_000 {
		k.Errorf("a raise leaves %+v", got)
	}
	for _, window := range []generator.Tick{0, -1} {
		if err := o.SetWindow(k.Context(), window); err == nil {
			k.Errorf("a window of %d was set", window)
		}
	}
	var wants generator.Tick
	k.inDoubt(func(o client, before coord.Inspected) error {
		wants = before.Window + 1
		return o.SetWindow(k.Context(), wants)
	}, func(what string, _, after coord.Inspected, failure error) {
		if failure == nil && after.Window != wants {
			k.Errorf("%s: set to %d, and the record has %d", what, wants, after.Window)
		}
	}, func(_ string, o client, _ coord.Inspected) { must.Do(k, o.SetWindow(k.Context(), wants)) })
}

func trusting(k *kit) {
	n, o := k.start("a"), k.operator()
	c := n.claim(wanting(1))
	for i, learns := range []func(){
		func() { k.extend(c, coord.Progress{Ceiling: c.Floor() + 500}) },
		func() { n.members() },
	} {
		at := generator.Tick(1000 + i)
		must.Do(k, o.TrustClock(k.Context(), at))
		learns()
		if got := n.Known().Trusted; got != at {
			k.Errorf("a person said that it is %d, and the daemon knows of %d", at, got)
		}
	}
	if got := k.start("b").Known().Trusted; got != 1001 {
		k.Errorf("a person said that it is 1001, and a start knows of %d", got)
	}
}
