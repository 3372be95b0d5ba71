package budget

import "testing"

const (
	busiest  User = 1000
	other    User = 1001
	operator User = 0
)

// come has n clients of a user connect, and wants the same verdict about each.
func come(t *testing.T, c *Connections, u User, n int, want Verdict) {
	t.Helper()
	for range n {
		if got, _ := c.Come(u); got != want {
			t.Fatalf("verdict %d about a client of user %d, want %d", got, u, want)
		}
	}
}

func TestAUserMayHaveAllConnectionsUntilAnotherComes(t *testing.T) {
	c := NewConnections(10, 4, func(u User) bool { return u == operator })
	come(t, c, busiest, 10, Admit)
	come(t, c, busiest, 1, Refuse)
	for range 5 { // one of the busiest's ends for each
		if v, of := c.Come(other); v != Relieve || of != busiest {
			t.Fatalf("verdict %d, at the cost of user %d", v, of)
		}
		c.Go(busiest)
	}
	come(t, c, other, 1, Refuse) // both have half
	come(t, c, busiest, 1, Refuse)
}

func TestTheReserveIsForOperatorsAndNeverFull(t *testing.T) {
	c := NewConnections(2, 2, func(u User) bool { return u == operator })
	come(t, c, operator, 2, Admit)
	come(t, c, operator, 2, Reserve)
	come(t, c, operator, 1, Recycle)
	c.Go(operator)
	come(t, c, operator, ending, Recycle)
	come(t, c, operator, 1, Refuse) // of those whose places they get, none has ended
	c.Go(operator)
	come(t, c, operator, 1, Recycle)
}

func TestConnectionsThatAreBeingEndedAreNotMany(t *testing.T) {
	c := NewConnections(100, 2, nil)
	come(t, c, busiest, 100, Admit)
	come(t, c, other, 2+ending, Relieve)
	come(t, c, other, 1, Refuse)
	c.Go(busiest)
	come(t, c, other, 1, Relieve)
}
