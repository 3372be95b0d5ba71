package coordtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

// What coord.Request.Before forbids is not done: it is what a copy of a machine asks, of which the
// claims may be its original's.
var forbidding = []testCase{
	{"forbidden: a claim that is gone is not made again", forbiddenAgain},
	{"forbidden: a claim that nothing uses is not deleted", forbiddenToDelete},
	{"forbidden: the node of an opening that came second is not deleted", forbiddenSecond},
}

var errForbidden = errors.New("not now")

func forbiddenAgain(k *kit) {
	n := k.start("a")
	var answer error
	r := wanting(2)
	r.Before = func(int) error { return answer }
	c := n.claim(r)
	k.revoke(n)
	answer = errForbidden
	k.extend(c, coord.Progress{Ceiling: 1000}) // what is stored is granted
	if ms := n.members(); len(ms) > 0 || c.Name() != "" {
		k.Errorf("the claim was made again as %q, though Before forbade it: %+v", c.Name(), ms)
	}
	answer = nil
	k.extend(c, coord.Progress{Ceiling: 1100})
	if m, ok := n.member(2); !ok || m.Claim != c.Name() || m.Opening != c.Opening() {
		k.Errorf("the claim is %q of opening %s, and there is %+v", c.Name(), c.Opening(), m)
	}
}

func forbiddenToDelete(k *kit) {
	observer := k.start("observer")
	for _, look := range []bool{true, false} {
		n := k.start("a")
		k.orphaned(observer, n, fresh())
		before := observer.members()
		left := before[len(before)-1].Worker
		r, asked := wanting(left), 0
		r.Look = look
		r.Before = func(int) error {
			if asked++; asked == 1 && !look { // the node that is made comes second
				return nil
			}
			return errForbidden
		}
		_, err := n.Claim(k.Context(), r)
		k.wants(fmt.Sprintf("Claim, look %v", look), err, errForbidden)
		if after := observer.members(); !slices.Equal(after, before) {
			k.Errorf("Claim, look %v: from %+v to %+v, though Before forbade it", look, before, after)
		}
		Close(k, n)
	}
}

func forbiddenSecond(k *kit) {
	observer, o := k.start("observer"), k.operator()
	n := k.start("a")
	var answer error
	r := wanting(2)
	r.Before = func(worker int) error {
		if worker == coord.AnyWorker {
			return answer
		}
		must.Do(k, o.TrustClock(k.Context(), 5)) // another cluster record: the opening is tried anew
		answer = errForbidden
		return nil
	}
	_, err := n.Claim(k.Context(), r)
	k.wants("Claim", err, errForbidden)
	if m, ok := observer.member(2); !ok || m.Opening != "" {
		k.Errorf("after the opening there is %+v, want the claim, not opened", m)
	}
}
