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

// Several lanes of one daemon share one coordinator, each with a claim of its own.
var lanes = []testCase{
	{"lanes: each has its own worker ID from last time", lanesSticky},
	{"lanes: a lane is no other host", lanesNoHost},
	{"lanes: further dead claims are deleted", lanesDead},
	{"lanes: all at once", lanesAtOnce},
	{"lanes: a call that gets no answer holds up no other", lanesStalled},
	{"lanes: one's claim is lost, and only that", lanesLoss},
}

// of is a request of a lane.
func of(lane int, r coord.Request) coord.Request {
	r.Lane = lane
	return r
}

func lanesSticky(k *kit) {
	const host = "host/with a slash"
	first := k.start(host)
	had := map[int]int{0: 6, 1: 2, 2: 5, 63: 3}
	for lane, worker := range had {
		c := first.claim(of(lane, wanting(worker)))
		if c.Worker() != worker {
			k.Fatalf("lane %d asked for worker ID %d, got %d", lane, worker, c.Worker())
		}
		k.release(c, c.Floor()+1)
	}
	again := k.start(host)
	for lane, worker := range had {
		if c := again.claim(of(lane, anyone())); c.Worker() != worker {
			k.Errorf("lane %d had worker ID %d last and got %d", lane, worker, c.Worker())
		}
	}
}

func lanesNoHost(k *kit) {
	k.workers = 1024 // what is assigned meanwhile is far from what is asked for
	n := k.start("h")
	k.release(n.claim(of(1, wanting(600))), 10)
	k.release(n.claim(of(0, wanting(500))), 10)
	for _, host := range []string{"h;1", "h%3B1", "h-1", "h/1", "1", "h1"} {
		if c := k.start(host).claim(anyone()); c.Worker() == 600 {
			k.Errorf("host %q got the worker ID that lane 1 of host h had last", host)
		} else {
			k.release(c, 10)
		}
	}
	if c := k.start("h").claim(of(1, anyone())); c.Worker() != 600 {
		k.Errorf("lane 1 had worker ID 600 last and got %d", c.Worker())
	}
}

func lanesDead(k *kit) {
	k.workers = 3
	dead := k.start("a")
	var names []string
	for lane := range 3 {
		names = append(names, dead.claim(of(lane, anyone())).Name())
	}
	r := anyone()
	r.Stale = append(names, "nobody's")
	k.start("b").claim(r)
	if ms := dead.members(); len(ms) != 1 {
		k.Errorf("%d claims are left, want the new one alone: %+v", len(ms), ms)
	}
}

func lanesAtOnce(k *kit) {
	k.workers = 16
	n := k.start("a")
	const rounds = 4
	var all sync.WaitGroup
	var mu sync.Mutex
	held := map[int]int{}
	live := map[string]bool{}
	for lane := range k.workers {
		all.Go(func() {
			for round := range rounds {
				r := of(lane, anyone())
				r.Fresh = round%2 == 1
				c, err := Claim(k.Context(), n, r)
				if err != nil {
					var full *coord.ExhaustedError
					if r.Fresh && errors.As(err, &full) {
						continue // all the others hold theirs
					}
					k.Errorf("lane %d: %v", lane, err)
					return
				}
				mu.Lock()
				if other, taken := held[c.Worker()]; taken {
					k.Errorf("lanes %d and %d both hold worker ID %d", lane, other, c.Worker())
				}
				held[c.Worker()] = lane
				mu.Unlock()
				for i := range generator.Tick(3) {
					if err := c.Extend(k.Context(), coord.Progress{Ceiling: c.Floor() + 10 + i}); err != nil {
						k.Errorf("lane %d: %v", lane, err)
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
					k.Errorf("lane %d: %v", lane, err)
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
		k.Errorf("claims that lanes hold are not there: %v", live)
	}
}

func lanesStalled(k *kit) {
	if k.Delay == nil {
		return
	}
	k.workers = 64
	for _, stalled := range []struct {
		what string
		call func(ctx context.Context, n *node, c coord.Claim) error
	}{
		{"Claim", func(ctx context.Context, n *node, _ coord.Claim) error {
			_, err := Claim(ctx, n, of(1, anyone()))
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

// stalled has a request of one lane held back, and all that another does meanwhile answered. It
// reports whether there was such a request.
func (k *kit) stalled(what string, request int, call func(context.Context, *node, coord.Claim) error) bool {
	k.Helper()
	n := k.start("a")
	defer k.revoke(n)
	one, other := n.claim(of(1, anyone())), n.claim(of(2, anyone()))
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
			k.Errorf("%s: another lane's Extend: %v", what, err)
		}
	}
	third, err := Claim(long, n, of(3, anyone()))
	if err != nil {
		k.Fatalf("%s: another lane's Claim: %v", what, err)
	}
	for _, c := range []coord.Claim{other, third} {
		if err := c.Release(long, c.Floor()+1); err != nil {
			k.Errorf("%s: another lane's Release: %v", what, err)
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

func lanesLoss(k *kit) {
	n, operator := k.start("a"), k.Operator(k)
	must.Get(operator.Inspect(k.Context()))(k)
	var claims []coord.Claim
	for lane := range 4 {
		c := n.claim(of(lane, anyone()))
		k.extend(c, coord.Progress{Ceiling: 100, Mark: 10})
		claims = append(claims, c)
	}
	lost := claims[2]
	must.Do(k, operator.Clear(k.Context(), lost.Name()))
	for lane, c := range claims {
		err := c.Extend(k.Context(), coord.Progress{Ceiling: 200, Mark: 20})
		if want := lane == 2; errors.Is(err, coord.ErrLost) != want || err != nil && !want {
			k.Errorf("lane %d: Extend: %v, want that it is lost: %v", lane, err, want)
		}
	}
	r := of(2, continuing(lost, 20))
	r.Predecessor = lost.Name()
	if back := n.claim(r); back.Worker() != lost.Worker() || !back.Continues() {
		k.Errorf("lane 2 got worker ID %d, continues %v; want %d and true", back.Worker(), back.Continues(), lost.Worker())
	}
	// Nor does a lane take another's for an orphan, or for its predecessor's.
	r = of(3, wanting(claims[0].Worker()))
	r.Predecessor, r.Stale = claims[0].Name(), []string{claims[1].Name()}
	if c := n.claim(r); c.Worker() == claims[0].Worker() || c.Worker() == claims[1].Worker() {
		k.Errorf("lane 3 took worker ID %d from another lane", c.Worker())
	}
	for _, lane := range []int{0, 1, 3} {
		k.extend(claims[lane], coord.Progress{Ceiling: 300, Mark: 30})
	}
}
