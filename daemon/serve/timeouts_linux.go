package serve

import (
	"container/heap"

	"github.com/flakeward/flakeward/clockguard"
)

// timeout is a time at which something is to be done for a connection.
type timeout struct {
	conn  *conn
	at    clockguard.Mono
	since uint64 // which of several of the same time is the first
	place int    // in timeouts, from 1; 0: it is not set
}

// timeouts are those that are set: a heap, the earliest first. With thousands of connections the
// earliest is found, and one is set, without looking at all of them.
type timeouts []*timeout

// earliest is its time, or never.
func (q timeouts) earliest() clockguard.Mono {
	if len(q) == 0 {
		return never
	}
	return q[0].at
}

// set sets a timeout, or moves it.
func (q *timeouts) set(a *timeout, at clockguard.Mono) {
	a.at = at
	if a.place > 0 {
		heap.Fix(q, a.place-1)
	} else {
		heap.Push(q, a)
	}
}

// end ends a timeout if it is set.
func (q *timeouts) end(a *timeout) {
	if a.place > 0 {
		heap.Remove(q, a.place-1)
	}
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (q timeouts) Len() int { return len(q) }

func (q timeouts) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].since < q[j].since
}

func (q timeouts) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (q *timeouts) Push(x any) {
	a := x.(*timeout)
	*q = append(*q, a)
	a.place = len(*q)
}

// Pop implements heap.Interface.
func (q *timeouts) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	a.place = 0
	return a
}
