package queue_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/daemon/queue"
)

// waiter is a connection with its requests, the first of which is served.
type waiter struct {
	user     queue.User
	line     queue.Line
	requests []*asked
	got      int
}

type asked struct {
	queue.Request
	number, n int
	small     bool
	joined    int64 // the portion
}

func (w *waiter) ask(q *queue.Queue, number, n int, l queue.Limits, at int64) {
	a := &asked{number: number, n: n, small: n <= l.Small(), joined: at}
	w.requests = append(w.requests, a)
	q.Join(w.user, &w.line, &a.Request, queue.Ask{N: n, Small: a.small}, w)
}

// take takes up to most of the first request's share, and returns how much it was.
func (w *waiter) take(most int) int {
	for i, a := range w.requests {
		if n := min(a.Share(), most); n > 0 {
			if i > 0 {
				panic(fmt.Sprintf("request %d has a share before %d has all", a.number, w.requests[0].number))
			}
			a.Took(n)
			w.got += n
			if !a.Waits() {
				w.requests = w.requests[1:]
			}
			return n
		}
	}
	return 0
}

// ask is a request for n.
func ask(l queue.Limits, n int) queue.Ask { return queue.Ask{N: n, Small: n <= l.Small()} }

func uid(n int) queue.User { return queue.User{UID: uint32(n)} }

// crowd is so many connections of a user that ask for n again and again.
func crowd(q *queue.Queue, l queue.Limits, user, connections, n int) []*waiter {
	all := make([]*waiter, connections)
	for i := range all {
		all[i] = &waiter{user: uid(user)}
		all[i].ask(q, 0, n, l, 0)
	}
	return all
}

func TestUsersHaveEqualShares(t *testing.T) {
	l := queue.Limits{Portion: 4096, Deals: 2000}
	q := queue.New(l)
	users := [][]*waiter{crowd(q, l, 1, 100, 1e6), crowd(q, l, 2, 1, 1e6), crowd(q, l, 3, 7, 1e6)}
	for deal := range 30 {
		q.Deal(3584, 512)
		for i, all := range users {
			got := 0
			for _, w := range all {
				got += w.take(1e6)
			}
			if want := 3584 / 3; got < want || got > want+2 {
				t.Errorf("user %d gets %d of %d in deal %d, want a third", i, got, 3584, deal)
			}
		}
	}
}

// Who wants nothing of what is kept for small requests changes nothing in whose it is.
func TestEachKindOfShareHasItsTurns(t *testing.T) {
	for _, portion := range []struct{ room, reserve int }{{0, 1}, {1, 1}, {7, 1}, {2, 3}} {
		l := queue.Limits{Portion: 8, Deals: 200}
		q := queue.New(l)
		crowd(q, l, 1, 1, 1e6)
		small := [][]*waiter{crowd(q, l, 2, 20, 1), crowd(q, l, 3, 20, 1)}
		got := make([]int, len(small))
		for range 3000 {
			q.Deal(portion.room, portion.reserve)
			for user, all := range small {
				for _, w := range all {
					if w.take(1) > 0 {
						got[user]++
						w.ask(q, 0, 1, l, 0)
					}
				}
			}
		}
		if d := got[0] - got[1]; d < -1 || d > 1 || got[0] < 1000*portion.reserve {
			t.Errorf("with portions of %+v two users of one kind have %d", portion, got)
		}
	}
}

func TestConnectionsHaveEqualTurns(t *testing.T) {
	l := queue.Limits{Portion: 4096, Deals: 2000}
	q := queue.New(l)
	all := crowd(q, l, 1, 100, 64000) // a turn is 2,000
	for range 1000 {
		q.Deal(3584, 512)
		for _, w := range all {
			w.take(1e6)
		}
	}
	for i, w := range all {
		if want := 1000 * 3584 / 100; w.got < want-2000 || w.got > want+2000 {
			t.Errorf("connection %d got %d, want %d and at most a turn more or less", i, w.got, want)
		}
	}
}

// An eighth is kept of eight portions, however few numbers each has.
func TestAnEighthIsKept(t *testing.T) {
	for _, portion := range []int{1, 2, 3, 7, 8, 12, 4096} {
		q := queue.New(queue.Limits{Portion: portion, Deals: 1})
		got := 0
		for i := range 80 {
			got += q.NextReserve()
			if least := portion * (i + 1) / 8; got != least {
				t.Errorf("of %d portions of %d, %d are kept, want %d", i+1, portion, got, least)
			}
		}
	}
}

func TestTheReserveIsForSmallRequests(t *testing.T) {
	l := queue.Limits{Portion: 4096, Deals: 2000}
	q := queue.New(l)
	crowd(q, l, 1, 100, 65536)
	one := &waiter{user: uid(1)}
	one.ask(q, 0, 1, l, 0)
	q.Deal(0, 512)
	if one.take(1) != 1 {
		t.Error("a single ID waits for batches of its own user")
	}
}

// What a request takes counts as of the reserve as far as the last deal gave it of that.
func TestARequestSaysWhatItTakesOfTheReserve(t *testing.T) {
	for name, c := range map[string]struct {
		deal func(*queue.Queue)
		want int
	}{
		"all of it":                     {func(q *queue.Queue) { q.Deal(0, 5) }, 5},
		"a part of it":                  {func(q *queue.Queue) { q.Deal(5, 2) }, 2},
		"nothing of it":                 {func(q *queue.Queue) { q.Deal(5, 0) }, 0},
		"what it had of it went back":   {func(q *queue.Queue) { q.Deal(0, 5); q.DealAgain(5, 0) }, 0},
		"what it had besides went back": {func(q *queue.Queue) { q.Deal(5, 0); q.DealAgain(0, 5) }, 5},
	} {
		l := queue.Limits{Portion: 4096, Deals: 2000}
		q := queue.New(l)
		var line queue.Line
		var r queue.Request
		q.Join(uid(1), &line, &r, ask(l, 5), nil)
		c.deal(q)
		if got := r.Took(5); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestWhatIsNotTakenKeepsItsTurn(t *testing.T) {
	l := queue.Limits{Portion: 640, Deals: 2000}
	q := queue.New(l)
	all := crowd(q, l, 1, 3, 10)
	for _, w := range all { // 10 at a time, so the first alone has a share
		for range 3 {
			q.Deal(10, 0)
			if share := w.requests[0].Share(); share != 10 {
				t.Fatalf("the first in turn has a share of %d", share)
			}
		}
		w.take(10)
	}
}

// A turn is no longer for a share that was not taken: who comes late to many deals has what it
// could have had, and then another's turn comes.
func TestWhatIsNotTakenIsNoLongerTurn(t *testing.T) {
	l := queue.Limits{Portion: 640, Deals: 2000}
	q := queue.New(l)
	all := crowd(q, l, 1, 2, 100)
	for range 5 {
		q.Deal(15, 0)
	}
	q.Deal(15, 0)
	if first, second := all[0].requests[0].Share(), all[1].requests[0].Share(); first != 10 || second != 5 {
		t.Errorf("turns are of 10, and of 15 the first has %d and the second %d", first, second)
	}
}

func TestAPromiseIsForTheUser(t *testing.T) {
	l := queue.Limits{Portion: 256, Deals: 200}
	q := queue.New(l)
	if p := q.Admit(uid(1), ask(l, 65536)); p != (queue.Promise{Largest: 224 * 200}) {
		t.Errorf("more than there is in time is promised, or is to be tried again: %+v", p)
	}
	crowd(q, l, 1, 1, 224*200)
	if p := q.Admit(uid(1), ask(l, 30000)); p.Largest != 4 || p.After != 200 {
		t.Errorf("beside what needs all the time, a small request can be had: %+v", p)
	}
	if p := q.Admit(uid(2), ask(l, 30000)); p.Largest != 224*100 || p.After != 200 {
		t.Errorf("another user has half: %+v", p)
	}
	if p := q.Admit(uid(2), ask(l, 65536)); p.After != 0 {
		t.Errorf("what can never be had is to be tried again: %+v", p)
	}
}

// Whatever users ask for: each request that was promised is served in time, unless it wants more
// than its user's share and another user has come; requests of a connection are served in order; no
// more is shared than there is, and nothing is kept back while somebody wants it.
func TestPromisesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := queue.Limits{Portion: rapid.SampledFrom([]int{8, 256, 4096}).Draw(t, "portion"), Deals: rapid.IntRange(64, 100).Draw(t, "deals")}
		q := queue.New(l)
		users := rapid.IntRange(1, 2).Draw(t, "users") // who was promised something alone keeps it beside one more
		waiters := make([]*waiter, rapid.IntRange(1, 40).Draw(t, "connections"))
		for i := range waiters {
			waiters[i] = &waiter{user: uid(i % users)}
		}
		left := 0 // what the portion before has left
		for at := range int64(2 * l.Deals) {
			for range rapid.IntRange(0, 3).Draw(t, "arrivals") {
				w := waiters[rapid.IntRange(0, len(waiters)-1).Draw(t, "connection")]
				if len(w.requests) > 0 {
					continue // what a connection asks for behind another request of its own is promised nothing
				}
				n := rapid.SampledFrom([]int{1, l.Small(), l.Portion / 2, l.Portion, 10 * l.Portion, 100 * l.Portion}).Draw(t, "n")
				if n = max(1, n); n <= q.Admit(w.user, ask(l, n)).Largest {
					w.ask(q, int(at), n, l, at)
				}
			}
			reserve := q.NextReserve()
			q.Deal(left+l.Portion-reserve, reserve)
			dealt, wanted := 0, 0
			for _, w := range waiters {
				for _, a := range w.requests {
					dealt += a.Share()
					wanted += a.Left()
				}
			}
			if dealt > left+l.Portion {
				t.Fatalf("%d are shared, and there are %d", dealt, left+l.Portion)
			}
			if least := min(wanted, left+l.Portion-reserve); dealt < least {
				t.Fatalf("%d are shared of %d, and %d are wanted", dealt, left+l.Portion-reserve, wanted)
			}
			left += l.Portion
			for _, w := range waiters {
				left -= w.take(1e9)
				for _, a := range w.requests {
					fits := a.n*users <= l.Deals*(l.Portion-l.Portion/8)
					if waited := at - a.joined; fits && waited > int64(l.Deals)+1 {
						t.Fatalf("%d of user %d were promised, and %d are missing after %d portions", a.n, w.user.UID, a.Left(), waited)
					}
				}
			}
			left = min(left, l.Portion) // what is older cannot be had any more
		}
	})
}

// What cannot be divided goes to one user after the other.
func TestTheRestIsDealtInTurn(t *testing.T) {
	l := queue.Limits{Portion: 64, Deals: 2000}
	q := queue.New(l)
	all := append(crowd(q, l, 1, 1, 1000), crowd(q, l, 2, 1, 1000)...)
	for range 10 {
		q.Deal(1, 0)
		for _, w := range all {
			w.take(1)
		}
		q.Deal(0, 0) // as a tick is, when somebody joins
	}
	if all[0].got != 5 || all[1].got != 5 {
		t.Errorf("of ten single numbers users got %d and %d", all[0].got, all[1].got)
	}
}

// Single numbers of one user, of which there is enough for all in time, are not refused because
// they are more than the reserve has room for.
func TestASingleNumberIsRefusedOnlyIfThereIsNone(t *testing.T) {
	l := queue.Limits{Portion: 256, Deals: 199} // sonyflake, two seconds
	q := queue.New(l)
	all := make([]*waiter, 20000)
	for i := range all {
		all[i] = &waiter{user: uid(1)}
		if p := q.Admit(uid(1), ask(l, 1)); p.Largest < 1 {
			t.Fatalf("of %d single numbers, %d are promised: %+v", len(all), i, p)
		}
		all[i].ask(q, 0, 1, l, 0)
	}
	// As long as those wait, somebody who wants many would hold them up, and come too late.
	if p := q.Admit(uid(1), ask(l, 1000)); p.Largest >= 1000 {
		t.Errorf("beside them, 1000 are promised: %+v", p)
	}
	got := 0
	for range l.Deals {
		reserve := q.NextReserve()
		q.Deal(l.Portion-reserve, reserve)
		for _, w := range all {
			got += w.take(1)
		}
	}
	if got != len(all) {
		t.Errorf("%d of %d are served in time", got, len(all))
	}
}
