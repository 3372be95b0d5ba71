package serve

import (
	"container/heap"

	"github.com/flakeward/flakeward/clockguard"
)

// alarm is a time at which something is to be done for a connection.
type alarm struct {
	conn  *conn
	at    clockguard.Mono
	since uint64 // which of several of the same time is the first
	place int    // in alarms, from 1; 0: it is not set
}

// alarms are those that are set: a heap, the earliest first. With thousands of connections the
// earliest is found, and one is set, without looking at all of them.
type alarms []*alarm

// earliest is its time, or never.
func (q alarms) earliest() clockguard.Mono {
	if len(q) == 0 {
		return never
	}
	return q[0].at
}

// set sets an alarm, or moves it.
func (q *alarms) set(a *alarm, at clockguard.Mono) {
	a.at = at
	if a.place > 0 {
		heap.Fix(q, a.place-1)
	} else {
		heap.Push(q, a)
	}
}

// end ends an alarm if it is set.
func (q *alarms) end(a *alarm) {
	if a.place > 0 {
		heap.Remove(q, a.place-1)
	}
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (q alarms) Len() int { return len(q) }

func (q alarms) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].since < q[j].since
}

func (q alarms) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (q *alarms) Push(x any) {
	a := x.(*alarm)
	*q = append(*q, a)
	a.place = len(*q)
}

// Pop implements heap.Interface.
func (q *alarms) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	a.place = 0
	return a
}
