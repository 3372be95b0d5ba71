package coordtest

import (
	"context"
	"errors"
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
				if err := c.Release(k.Context(), Closed(c.Floor()+5)); err != nil {
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
	k.workers = 64
	for _, name := range []string{"Claim", "Extend", "Release"} {
		for request := 0; k.stalled(name, request); request++ {
		}
	}
}

// stalled has a request of one claim held back, and all that another does meanwhile answered. It
// reports whether there was such a request.
func (k *kit) stalled(name string, request int) bool {
	k.Helper()
	n := k.start("a")
	defer k.revoke(n)
	one, other := n.claim(anyone()), n.claim(anyone())
	k.extend(one, coord.Progress{Ceiling: one.Floor() + 10})
	h := k.holdBack(n.Coordinator, request, named(callsOf(n, one), name))
	if h == nil {
		return false
	}
	// It ends long before this, or with the test.
	long, end := context.WithTimeout(k.Context(), time.Minute)
	defer end()
	for p := other.Floor() + 10; p < other.Floor()+13; p++ {
		k.wants("another claim's Extend", other.Extend(long, coord.Progress{Ceiling: p}), nil)
	}
	third := must.Get(n.Claim(long, anyone()))(k)
	for _, c := range []coord.Claim{other, third} {
		k.wants("another claim's Release", c.Release(long, Closed(c.Floor()+1)), nil)
	}
	select {
	case err := <-h.done:
		k.Fatalf("%s, request %d: the call that was held back ended: %v", name, request, err)
	default:
	}
	h.giveUp(k)
	h.release()
	return true
}

func severalLoss(k *kit) {
	n, operator := k.start("a"), k.operator()
	var claims []coord.Claim
	for range 4 {
		c := n.claim(anyone())
		k.extend(c, coord.Progress{Ceiling: 100})
		claims = append(claims, c)
	}
	must.Do(k, operator.Clear(k.Context(), claims[2].Name()))
	k.start("b").hold(claims[2].Worker())
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
