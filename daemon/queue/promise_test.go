package queue_test

import (
	"testing"

	"github.com/flakeward/flakeward/daemon/queue"
)

// host is one tick after the other of a lane, with connections that ask.
type host struct {
	l   queue.Limits
	q   *queue.Queue
	at  int64
	all []*waiter
}

func newHost(l queue.Limits) *host { return &host{l: l, q: queue.New(l)} }

// ask has a new connection ask, if it is promised what it asks for.
func (h *host) ask(user, n int, row bool) (w *waiter, ok bool) {
	a := queue.Ask{N: n, Small: n <= h.l.Small(), Row: row}
	w = &waiter{user: uid(user)}
	want := n
	if row {
		want = 1
	}
	if h.q.Admit(w.user, a).Largest < want {
		return w, false
	}
	r := &asked{n: n, joined: h.at}
	w.requests = append(w.requests, r)
	h.q.Join(w.user, &w.line, &r.Request, a, w)
	h.all = append(h.all, w)
	return w, true
}

// deal has a tick pass, in which each takes its share.
func (h *host) deal() {
	reserve := h.q.NextReserve()
	h.q.Deal(h.l.Portion-reserve, reserve)
	waiting := h.all[:0]
	for _, w := range h.all {
		w.take(1e9)
		if len(w.requests) > 0 {
			waiting = append(waiting, w)
		}
	}
	h.all = waiting
	h.at++
}

var (
	sonyflake = queue.Limits{Portion: 256, Deals: 199}
	flakeward = queue.Limits{Portion: 4096, Deals: 1999}
)

// Single IDs of the same user, however many come, do not break what a batch was promised, and none
// of them is refused for it.
func TestSingleIDsDoNotBreakABatchsPromise(t *testing.T) {
	h := newHost(sonyflake)
	batch, ok := h.ask(1, 20000, false)
	if !ok {
		t.Fatal("a batch is refused where nobody waits")
	}
	const connections = 1000 // each asks again once it has its ID
	for tick := range sonyflake.Deals {
		for len(h.all)-len(batch.requests) < connections {
			if _, ok := h.ask(1, 1, false); !ok {
				t.Fatalf("a single ID is refused beside a batch in tick %d", tick)
			}
		}
		h.deal()
	}
	if len(batch.requests) > 0 {
		t.Errorf("of a batch that was promised, %d are missing in the end", batch.requests[0].Left())
	}
}

// A single ID is not refused for what the same user's other connections ask for at once, nor does
// it wait for that.
func TestASingleIDIsNotRefusedForRows(t *testing.T) {
	h := newHost(flakeward)
	for i := range 10000 {
		if _, ok := h.ask(1, 3000, true); !ok {
			t.Fatalf("row %d is refused, and it is promised one ID", i)
		}
	}
	h.deal()
	for range 100 {
		one, ok := h.ask(1, 1, false)
		if !ok {
			t.Fatal("a single ID is refused beside rows")
		}
		if h.deal(); len(one.requests) > 0 {
			t.Fatal("a single ID waits for rows")
		}
	}
}

// A row beside batches of the same user gets its first ID in time, and they keep their promise.
func TestARowBesideBatchesGetsItsFirst(t *testing.T) {
	h := newHost(sonyflake)
	batch, _ := h.ask(1, 20000, false)
	rows := make([]*waiter, 1000)
	for i := range rows {
		var ok bool
		if rows[i], ok = h.ask(1, 3000, true); !ok {
			t.Fatalf("row %d is refused", i)
		}
	}
	for range sonyflake.Deals {
		h.deal()
	}
	if len(batch.requests) > 0 {
		t.Errorf("of the batch %d are missing", batch.requests[0].Left())
	}
	for i, w := range rows {
		if w.got == 0 {
			t.Fatalf("row %d has got nothing", i)
		}
	}
}

// What has a share is named, and what waits as well.
func TestWhoHasAShareIsNamed(t *testing.T) {
	h := newHost(flakeward)
	for range 100 {
		h.ask(1, 60000, false)
	}
	one, _ := h.ask(2, 1, false)
	h.q.Deal(3584, 512)
	named := map[any]bool{}
	h.q.Shares(func(r *queue.Request) { named[r.Of] = r.Share() > 0 })
	if len(named) == 0 || len(named) > 10 || !named[one] {
		t.Errorf("%d are named, and the single one: %v", len(named), named[one])
	}
	all := 0
	h.q.All(func(*queue.Request) { all++ })
	if all != h.q.Len() {
		t.Errorf("%d of %d that wait are named", all, h.q.Len())
	}
}
