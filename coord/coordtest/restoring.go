package coordtest

import (
	"errors"
	"reflect"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

// restoring is a tree that was put back to what it was, by a backup.
var restoring = []testCase{
	{"restore: a write of before, late, whose version is right again", restoredAndRight},
}

// restoredAndRight holds an Extend or a Release back while the tree is restored and the marks are
// raised. The record has the version that the request compares, at once or after some writes of the
// next holder, and the caller's claim is back as well. Nothing of it may pass, nor once the caller
// has joined again.
func restoredAndRight(k *kit) {
	const nobody = -1 // opens the worker ID after the restore
	for _, name := range []string{"Extend", "Release"} {
		for others := nobody; others <= 3; others++ {
			n, c := k.holder("a", 1, coord.Progress{Ceiling: 700, Issued: 300})
			restore := k.Save(k)
			for range min(2, others+1) {
				k.extend(c, coord.Progress{Ceiling: 900, Issued: 300})
			}
			call := named(callsOf(n, c), name)
			h := k.holdBack(n.Coordinator, 0, call)
			restore()
			o := k.operator()
			k.raise(o, 2000)
			open := []coord.Coordinator{o, n}
			if others != nobody {
				must.Do(k, o.Clear(k.Context(), c.Name()))
				other, _ := k.next(1, others)
				open = append(open, other)
			}
			before := k.stored()
			unchanged := func(when string) {
				k.Helper()
				if after := k.stored(); !reflect.DeepEqual(after, before) {
					k.Errorf("%s of before the restore, behind %d writes of the next holder, wrote %s: from\n%+v to\n%+v", name, others, when, before, after)
				}
			}
			refused := func(when string) {
				k.Helper()
				if err := call.run(k.Context()); err == nil {
					k.Errorf("%s of a claim of before the restore passed %s", name, when)
				}
				unchanged(when)
			}
			h.giveUp(k)
			h.release()
			unchanged("late")
			// The caller has learned of the raise, and its claim is over.
			if _, err := n.Members(k.Context()); err != nil {
				k.Logf("%s: the caller of before finds %v", name, err)
			}
			refused("again")
			if err := n.join(); err != nil && !errors.As(err, new(*coord.RestoredError)) {
				k.Errorf("%s: joining again: %v", name, err)
			}
			refused("once it had joined again")
			for _, c := range open {
				Close(k, c)
			}
			k.wipe()
		}
	}
}
