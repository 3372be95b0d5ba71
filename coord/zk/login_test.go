package zk

import "testing"

// The library gives a user to the connections that come after it has learned of it.
// If it learned of it while one connection was replaced by another, that one has not
// got it: requests on it would be refused.
func TestLoginCountsForItsConnection(t *testing.T) {
	for _, c := range []struct {
		up     bool
		number int
		want   bool
	}{{true, 1, false}, {false, 2, false}, {true, 2, true}} {
		n := &session{dialer: &dialer{}, up: c.up, number: 2, ready: make(chan struct{})}
		open := false
		got := n.accepted(c.number)
		select {
		case <-n.gate():
			open = true
		default:
		}
		if got != c.want || open != c.want || n.loggedIn != c.want {
			t.Errorf("%+v: accepted %v, requests pass %v", c, got, open)
		}
	}
}
