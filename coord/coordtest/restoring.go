package coordtest

import (
	"context"
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
	if k.Save == nil || k.Delay == nil {
		return
	}
	calls := map[string]func(context.Context, coord.Claim) error{
		"Extend": func(ctx context.Context, c coord.Claim) error {
			return c.Extend(ctx, coord.Progress{Ceiling: 9000, Issued: 800})
		},
		"Release": func(ctx context.Context, c coord.Claim) error { return c.Release(ctx, 300) },
	}
	const nobody = -1 // opens the worker ID after the restore
	for name, call := range calls {
		for others := nobody; others <= 3; others++ {
			n := k.start("a")
			c := n.claim(wanting(1))
			k.extend(c, coord.Progress{Ceiling: 700, Issued: 300})
			restore := k.Save(k)
			for range min(2, others+1) {
				k.extend(c, coord.Progress{Ceiling: 900, Issued: 300})
			}
			ctx, cancel := context.WithCancel(k.Context())
			held, release := k.Delay(k, n.Coordinator, 0)
			done := make(chan error, 1)
			go func() { done <- call(ctx, c) }()
			select {
			case err := <-done:
				k.Fatalf("%s made no request: %v; the case is void", name, err)
			case <-held:
			}
			restore()
			o := k.operator()
			k.raise(o, 2000)
			other := k.start("b")
			if others != nobody {
				must.Do(k, o.Clear(k.Context(), c.Name()))
				theirs := other.claim(wanting(1))
				for range others {
					k.extend(theirs, coord.Progress{Ceiling: 3000, Issued: 2500})
				}
			}
			before := k.stored()
			cancel()
			<-done
			release()
			if after := k.stored(); !reflect.DeepEqual(after, before) {
				k.Errorf("%s, behind %d writes of the next holder, came late and passed: from\n%+v to\n%+v", name, others, before, after)
			}
			// The caller has learned of the raise, and its claim is over.
			if _, err := n.Members(k.Context()); err != nil {
				k.Logf("%s: the caller of before finds %v", name, err)
			}
			if err := call(k.Context(), c); err == nil {
				k.Errorf("%s of a claim of before the restore passed", name)
			}
			if after := k.stored(); !reflect.DeepEqual(after, before) {
				k.Errorf("%s of a claim of before the restore wrote: from\n%+v to\n%+v", name, before, after)
			}
			if _, err := n.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers, Window: k.largest}); err != nil && !errors.As(err, new(*coord.RestoredError)) {
				k.Errorf("%s: joining again: %v", name, err)
			}
			if err := call(k.Context(), c); err == nil {
				k.Errorf("%s of a claim of before the restore passed, once it had joined again", name)
			}
			if after := k.stored(); !reflect.DeepEqual(after, before) {
				k.Errorf("%s of a claim of before the restore wrote, once it had joined again: from\n%+v to\n%+v", name, before, after)
			}
			for _, c := range []coord.Coordinator{o.(coord.Coordinator), n, other} {
				Close(k, c)
			}
			k.Wipe(k)
		}
	}
}
