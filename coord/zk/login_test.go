package zk

import (
	"errors"
	"testing"

	"github.com/flakeward/flakeward/coord/internal/mutex"
)

// A password that the library was given while the connection was lost may have come too late for
// the next one: it counts once a connection has lasted over it. One that was refused does not
// count.
func TestLoginCountsForItsConnection(t *testing.T) {
	n := &session{client: newClient(Servers{}, Config{}, "/"), login: mutex.New()}
	refused := errors.New("refused")
	calls := 0
	for _, c := range []struct {
		add  func() error
		want error
		all  int // calls of add until then
	}{
		{func() error { return refused }, refused, 1},
		{func() error {
			if calls < 4 {
				n.number++
			}
			return nil
		}, nil, 4},
		{func() error { return refused }, nil, 4},
	} {
		err := n.logIn("secret", func() error {
			calls++
			return c.add()
		})
		if !errors.Is(err, c.want) || calls != c.all {
			t.Errorf("%v after %d calls; want %v after %d", err, calls, c.want, c.all)
		}
	}
}
