package grant_test

import (
	"context"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// The abandoned call: a claim's node is asked for, and the call given up; the request reaches the
// servers after that. The node that comes of it is nobody's: it is deleted, and bars nobody.
func TestScheduleTheAbandonedCall(t *testing.T) {
	const worker = 2
	for _, c := range []struct {
		name  string
		again bool // the same worker ID is wanted again, and not another one
	}{{"the same worker ID again", true}, {"another worker ID", false}} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				p := w.host("J").bootFor(worker)
				p.attach()
				w.tree.hang()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				ended := make(chan error, 1)
				go func() { ended <- p.Acquire(ctx, false) }()
				w.until("the request is on its way", func(context.Context) (bool, error) { return w.tree.hangs(), nil })
				stop()
				must.Fail(t, <-ended, context.Canceled)
				before, err := w.tree.claims(t.Context())
				if err != nil || len(before) != 0 {
					t.Fatalf("the request was not held back: %v, %v", before, err)
				}
				w.tree.arrive()
				var abandoned string
				w.until("the abandoned claim", func(ctx context.Context) (bool, error) {
					names, err := w.tree.claims(ctx)
					if len(names) == 1 {
						abandoned = names[0]
					}
					return abandoned != "", err
				})

				k := w.host("K").startFor(worker)
				if k.worker() == worker || k.issueAll() == 0 {
					t.Errorf("K holds worker ID %d and can issue: %v; want another one, which serves", k.worker(), k.inUse() != nil)
				}
				must.Do(t, p.Acquire(t.Context(), !c.again))
				if c.again && p.worker() != worker {
					t.Errorf("J holds worker ID %d", p.worker())
				}
				must.Do(t, p.Publish(t.Context()))
				names, err := w.tree.claims(t.Context())
				if err != nil || len(names) != 2 || strings.Contains(strings.Join(names, " "), abandoned) {
					t.Errorf("the claims are %v, %v; want two, and not the abandoned %s", names, err, abandoned)
				}
				p.issueAll()
				if p.worker() != worker { // a fresh claim may have drawn it: it was free again
					l := w.host("L").startFor(worker)
					if l.worker() != worker || l.issueAll() == 0 {
						t.Errorf("L holds worker ID %d and can issue: %v; want the one of the abandoned claim, %d", l.worker(), l.inUse() != nil, worker)
					}
				}
				k.issueAll()
			})
		})
	}
}
