package issue_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/peercred"
)

// Pods of one UID are users of their own, with a rate each. They are shown as their UID.
func TestPodsOfOneUIDAreUsersOfTheirOwn(t *testing.T) {
	const burst = 100
	g := newPool(t, "flakeward", 1, issue.Limits{})
	g.clock.Advance(time.Second)
	limited := g.Limit(issue.Rate{PerSecond: 1, Burst: burst}, g.clock, time.Second).(*issue.Limited)
	for _, pod := range []uint32{0, 1 << 30, 1<<30 + 1} {
		c := issue.Connection{User: issue.UserOf(peercred.Credentials{Known: true, UID: 7, Pod: pod})}
		if run, wait := limited.Take(&c, 0, burst); run.N != burst {
			t.Errorf("pod %#x gets %d of %d: %+v", pod, run.N, burst, wait)
		}
	}
	if all, rest := limited.Usages(); len(all) != 1 || all[0].UID != 7 || all[0].IDs != 3*burst || rest != 0 {
		t.Errorf("shown are %+v and %d", all, rest)
	}
}

// Peers of TCP are users by their address, with a rate each.
func TestAddressesAreUsersOfTheirOwn(t *testing.T) {
	const burst = 100
	g := newPool(t, "flakeward", 1, issue.Limits{})
	g.clock.Advance(time.Second)
	limited := g.Limit(issue.Rate{PerSecond: 1, Burst: burst}, g.clock, time.Second).(*issue.Limited)
	for i, address := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.1"} {
		c := issue.Connection{User: issue.UserOf(peercred.Credentials{Address: netip.MustParseAddr(address)})}
		if run, _ := limited.Take(&c, 0, burst); (run.N == burst) != (i < 2) {
			t.Errorf("request %d, from %s, gets %d of %d", i, address, run.N, burst)
		}
	}
	if all, _ := limited.Usages(); len(all) != 2 || all[0].Address.String() != "10.0.0.1" || all[1].IDs != burst {
		t.Errorf("shown are %+v", all)
	}
}
