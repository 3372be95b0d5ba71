package issue_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/peercred"
)

// Pods of one UID and peers of TCP are users of their own, with a rate each. Pods are shown as
// their UID, and peers by their address.
func TestPodsAndAddressesAreUsersOfTheirOwn(t *testing.T) {
	const burst = 100
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Second)
	limited := g.Limit(issue.Rate{PerSecond: 1, Burst: burst}, g.clock, time.Second).(*issue.Limited)
	one, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for i, who := range []peercred.Credentials{
		{Known: true, UID: 7}, {Known: true, UID: 7, Pod: 1 << 30}, {Known: true, UID: 7, Pod: 1<<30 + 1}, {Address: one}, {Address: other},
		{Address: one}, {Known: true, UID: 7, Pod: 1 << 30}, // they were there before
	} {
		c := issue.Connection{User: issue.UserOf(who)}
		if run, wait := limited.Take(&c, 0, burst); (run.N == burst) != (i < 5) {
			t.Errorf("request %d, of %+v, gets %d of %d: %+v", i, who, run.N, burst, wait)
		}
		g.clock.Advance(time.Millisecond)
	}
	all, rest := limited.Usages()
	if len(all) != 3 || all[0].UID != 7 || all[0].IDs != 3*burst || all[1].Address != one || all[1].IDs != burst || all[2].Address != other || rest != 0 {
		t.Errorf("shown are %+v and %d", all, rest)
	}
}
