package linear_test

import (
	"math/rand/v2"
	"testing"

	"github.com/flakeward/flakeward/internal/faultproxy"
)

// network is one daemon's network: a proxy before each member.
type network []*faultproxy.Proxy

func networkTo(t testing.TB, addresses []string) network {
	var l network
	for _, a := range addresses {
		l = append(l, faultproxy.Listen(t, a))
	}
	return l
}

func (l network) addresses() []string {
	var all []string
	for _, p := range l {
		all = append(all, p.Address())
	}
	return all
}

func (l network) each(do func(*faultproxy.Proxy)) {
	for _, p := range l {
		do(p)
	}
}

// mend lets everything pass. What was held back goes on now.
func (l network) mend() {
	l.each((*faultproxy.Proxy).Disarm)
	l.each((*faultproxy.Proxy).Open)
}

// die ends every connection for good, as the death of a process does.
func (l network) die() { l.each((*faultproxy.Proxy).CutAll) }

// inject breaks the network in one way, until mend.
func (l network) inject(rng *rand.Rand) {
	switch rng.IntN(6) {
	case 0: // the request arrives, and its reply does not
		l.each(func(p *faultproxy.Proxy) { p.CutReplyAt(0) })
	case 1: // nor does all of one
		n, k := rng.Int64N(100), rng.IntN(4)
		l.each(func(p *faultproxy.Proxy) { p.CutBurstAt(k, n) })
	case 2: // the request waits on its way, and arrives when its caller has given up
		l.each((*faultproxy.Proxy).Hang)
	case 3: // the reply waits
		l.each((*faultproxy.Proxy).Hold)
	case 4:
		l.each((*faultproxy.Proxy).DropReplies)
	case 5: // one member cannot be reached
		l[rng.IntN(len(l))].CutAll()
	}
}
