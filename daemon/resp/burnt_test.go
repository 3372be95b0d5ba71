package resp_test

import (
	"errors"
	"testing"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
)

// some has so many IDs, and then has requests wait, or refuses them.
type some struct {
	left int
	err  error
}

func (s *some) Take(_ *issue.Connection, _ uint32, n int) (generator.Run, issue.Wait) {
	n = min(n, s.left)
	if s.left -= n; n == 0 {
		return generator.Run{}, issue.Wait{Event: true, Err: s.err}
	}
	return generator.Run{First: 1, N: n}, issue.Wait{}
}

// IDs that were taken for a request which is given up are counted, once.
func TestBurntIDsAreCounted(t *testing.T) {
	for _, request := range []string{"RUN 10\r\n", "NEXT 10\r\n"} {
		source := &some{left: 7, err: errors.New("gone")}
		h := handler(t, source, "twitter", resp.Limits{})
		var refused, abandoned resp.Session
		_, _, _ = h.Serve(&refused, []byte(request), nil)
		if got := h.Tally().Burnt; got != 7 {
			t.Errorf("%q is refused with 7 of 10: %d are burnt", request, got)
		}
		h.Abandon(&refused)
		*source = some{left: 5}
		if _, _, next := h.Serve(&abandoned, []byte(request), nil); next.State != resp.Wait {
			t.Fatalf("%q does not wait: %+v", request, next)
		}
		h.Abandon(&abandoned)
		h.Abandon(&abandoned)
		if got := h.Tally().Burnt; got != 7+5 {
			t.Errorf("%q: its client is gone, with 5 of 10: %d are burnt in all", request, got)
		}
	}
}
