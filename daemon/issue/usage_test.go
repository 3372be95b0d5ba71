package issue

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/queue"
)

// A user may come by each UID of a range that is its own: those who rest are forgotten, and none of
// what they took is. Who is over its rate stays.
func TestUsersWhoRestAreForgottenWhereThereAreMany(t *testing.T) {
	clock := clocktest.NewManual(time.Unix(1e9, 0))
	l := (&Issuer{}).Limit(Rate{PerSecond: 100, Burst: 100}, clock, time.Second).(*Limited)
	const uids = 20 * mostUsers
	var greedy, former Connection
	greedy.User, former.User = queue.User{UID: uids}, queue.User{UID: mostShown} // the first who is not shown
	take := func(c *Connection, n int) (granted int) {
		c.user.of = l.user(c.User)
		c.user.granted = 0
		l.grant(c, n)
		return c.user.granted
	}
	for uid := range uint32(uids) {
		c := &Connection{User: queue.User{UID: uid}}
		if uid == mostShown {
			c = &former
		}
		if got := take(c, 3); got != 3 {
			t.Fatalf("user %d gets %d", uid, got)
		}
		if uid%mostUsers == mostUsers-1 {
			take(&greedy, 100)
			clock.Advance(100 * time.Millisecond)
		}
	}
	if n := len(l.users); n > 4*mostUsers {
		t.Errorf("%d users are remembered", n)
	}
	if got := take(&greedy, 100); got > 10 {
		t.Errorf("a user over its rate was forgotten: it gets %d", got)
	}
	if !former.user.of.over.Load() || l.users[former.User] != nil {
		t.Error("a user who rests is remembered")
	}
	take(&greedy, 1)
	queued := greedy.user.of
	queued.over.Store(true) // between its look and its wait
	delete(l.users, greedy.User)
	if l.Take(&greedy, 0, 1); greedy.user.of != queued {
		t.Error("a request has left the queue that it waits in")
	}
	l.users[greedy.User] = queued
	each, rest := l.Usages()
	for _, of := range each {
		rest += of.IDs
	}
	if taken := l.users[greedy.User].took; rest != 3*uids+taken {
		t.Errorf("%d IDs are counted, want %d", rest, 3*uids+taken)
	}
}
