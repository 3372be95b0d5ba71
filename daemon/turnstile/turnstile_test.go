package turnstile

import (
	"context"
	"testing"
)

// While one passes, others wait: their users in turn, each user's in order, and not those that have
// gone.
func TestUsersEnterInTurn(t *testing.T) {
	var s Turnstile
	const crowd, other = 1, 2
	if s.begin(crowd) != nil {
		t.Fatal("the first waits")
	}
	all := map[string]*entrant{}
	for _, name := range []string{"a", "b", "c", "d"} {
		all[name] = s.begin(crowd)
	}
	all["other"] = s.begin(other)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if s.Pass(gone, crowd) {
		t.Error("one that has gone passes")
	}
	if !s.leave(all["b"]) {
		t.Error("it is the turn of one that waits")
	}
	for _, name := range []string{"a", "other", "c", "d"} {
		s.next()
		for of, e := range all {
			select {
			case <-e.turn:
				if of != name {
					t.Errorf("it is the turn of %s, want %s", of, name)
				}
			default:
				if of == name {
					t.Errorf("it is not the turn of %s", of)
				}
			}
		}
		delete(all, name)
	}
	if s.next(); s.begin(other) != nil {
		t.Error("one waits though nobody passes")
	}
	waits := s.begin(crowd)
	s.next()
	if s.leave(waits) {
		t.Error("one whose turn it is waits")
	}
}
