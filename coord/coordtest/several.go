package coordtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A daemon has several claims in one session while it takes another worker ID.
var several = []testCase{
	{"several claims: all at once", severalAtOnce},
	{"several claims: a call that gets no answer holds up no other", severalStalled},
	{"several claims: one is lost, and only that", severalLoss},
}

func severalAtOnce(k *kit) {
	k.workers = 16
	n := k.start("a")
	const rounds = 4
	var all sync.WaitGroup
	var mu sync.Mutex
	held := map[int]int{}
	live := map[string]bool{}
	for i := range k.workers {
		all.Go(func() {
			for round := range rounds {
				r := anyone()
				r.Fresh = round%2 == 1
				c, err := n.Claim(k.Context(), r)
				if err != nil {
					var full *coord.ExhaustedError
					if r.Fresh && errors.As(err, &full) {
						continue // all the others hold theirs
					}
					k.Errorf("claim %d: %v", i, err)
					return
				}
				mu.Lock()
				if other, taken := held[c.Worker()]; taken {
					k.Errorf("claims %d and %d both hold worker ID %d", i, other, c.Worker())
				}
				held[c.Worker()] = i
				mu.Unlock()
				for p := range generator.Tick(3) {
					if err := c.Extend(k.Context(), coord.Progress{Ceiling: c.Floor() + 10 + p}); err != nil {
						k.Errorf("claim %d: %v", i, err)
					}
				}
				mu.Lock()
				if round == rounds-1 {
					live[c.Name()] = true
					mu.Unlock()
					return
				}
				delete(held, c.Worker())
				mu.Unlock()
				if err := c.Release(k.Context(), c.Floor()+5); err != nil {
					k.Errorf("claim %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	for _, m := range n.members() {
		if !live[m.Claim] {
			k.Errorf("the claim %s on worker ID %d is nobody's", m.Claim, m.Worker)
		}
		delete(live, m.Claim)
	}
	if len(live) > 0 {
		k.Errorf("claims that are held are not there: %v", live)
	}
}

func severalStalled(k *kit) {
	if k.Delay == nil {
		return
	}
	k.workers = 64
	for _, stalled := range []struct {
		what string
		call func(ctx context.Context, n *node, c coord.Claim) error
	}{
		{"Claim", func(ctx context.Context, n *node, _ coord.Claim) error {
			_, err := n.Claim(ctx, anyone())
			return err
		}},
		{"Extend", func(ctx context.Context, _ *node, c coord.Claim) error {
			return c.Extend(ctx, coord.Progress{Ceiling: c.Floor() + 20})
		}},
		{"Release", func(ctx context.Context, _ *node, c coord.Claim) error { return c.Release(ctx, c.Floor()+15) }},
	} {
		for i := 0; ; i++ {
			what := fmt.Sprintf("%s, request %d", stalled.what, i)
			if !k.stalled(what, i, stalled.call) {
				if i == 0 {
					k.Fatalf("%s: nothing was held back; the case is void", what)
				}
				break
			}
		}
	}
}

// stalled has a request of one claim held back, and all that another does meanwhile answered. It
// reports whether there was such a request.
func (k *kit) stalled(what string, request int, call func(context.Context, *node, coord.Claim) error) bool {
	k.Helper()
	n := k.start("a")
	defer k.revoke(n)
	one, other := n.claim(anyone()), n.claim(anyone())
	k.extend(one, coord.Progress{Ceiling: one.Floor() + 10})
	ctx, cancel := context.WithCancel(k.Context())
	defer cancel()
	held, release := k.Delay(k, n.Coordinator, request)
	done := make(chan error, 1)
	go func() { done <- call(ctx, n, one) }()
	select {
	case err := <-done:
		if err != nil {
			k.Fatalf("%s: a call that nothing held back: %v", what, err)
		}
		return false
	case <-held:
	}
	// It ends long before this, or with the test.
	long, end := context.WithTimeout(k.Context(), time.Minute)
	defer end()
	for p := other.Floor() + 10; p < other.Floor()+13; p++ {
		if err := other.Extend(long, coord.Progress{Ceiling: p}); err != nil {
			k.Errorf("%s: another claim's Extend: %v", what, err)
		}
	}
	third, err := n.Claim(long, anyone())
	if err != nil {
		k.Fatalf("%s: another Claim: %v", what, err)
	}
	for _, c := range []coord.Claim{other, third} {
		if err := c.Release(long, c.Floor()+1); err != nil {
			k.Errorf("%s: another claim's Release: %v", what, err)
		}
	}
	select {
	case err := <-done:
		k.Errorf("%s: the call that was held back ended: %v", what, err)
	default:
		cancel()
		<-done
	}
	release()
	return true
}

func severalLoss(k *kit) {
	n, operator := k.start("a"), k.Operator(k)
	must.Get(operator.Inspect(k.Context()))(k)
	var claims []coord.Claim
	for range 4 {
		c := n.claim(anyone())
		k.extend(c, coord.Progress{Ceiling: 100})
		claims = append(claims, c)
	}
	lost, other := claims[2], k.start("b")
	must.Do(k, operator.Clear(k.Context(), lost.Name()))
	if c := other.claim(wanting(lost.Worker())); c.Worker() != lost.Worker() {
		k.Fatalf("worker ID %d is not free", lost.Worker())
	}
	for i, c := range claims {
		err := c.Extend(k.Context(), coord.Progress{Ceiling: 200})
		if want := i == 2; errors.Is(err, coord.ErrLost) != want || err != nil && !want {
			k.Errorf("claim %d: Extend: %v, want that it is lost: %v", i, err, want)
		}
	}
	// Nor does a claim take another of the session for an orphan.
	if c := n.claim(wanting(claims[0].Worker())); c.Worker() == claims[0].Worker() {
		k.Errorf("worker ID %d was taken from another claim of the session", c.Worker())
	}
	for _, i := range []int{0, 1, 3} {
		k.extend(claims[i], coord.Progress{Ceiling: 300})
	}
}
