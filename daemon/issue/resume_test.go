package issue_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
)

// What is left of a pod's rate goes over by the pod's name. It is dropped where the pod has gone, and
// where there is only a number, which another pod may have in this process.
func TestLeftRatesOfPodsGoByTheirNames(t *testing.T) {
	const burst = 100
	process := func() (limited *issue.Limited, takes func(u queue.User, n int) int) {
		g := newPool(t, tenanted, 1, issue.Limits{})
		g.clock.Advance(time.Second)
		limited = g.Limit(issue.Rates{Each: issue.Rate{PerSecond: 1, Burst: burst}}, g.clock, time.Second).(*issue.Limited)
		return limited, func(u queue.User, n int) int {
			run, _ := limited.Take(&issue.Connection{User: u}, 3, n)
			return run.N
		}
	}
	before, takes := process()
	user := queue.User{UID: 7}
	for who, n := range map[queue.User]int{issue.PodUser(1): 100, issue.PodUser(2): 60, issue.PodUser(3): 100, issue.PodUser(4): 100, user: 80} {
		if got := takes(who, n); got != n {
			t.Fatalf("%+v gets %d of %d", who, got, n)
		}
	}
	left := before.Left(func(number uint32) string {
		return map[uint32]string{1: "n/used", 2: "n/some", 3: "n/gone"}[number] // 4 has gone already
	})
	if len(left) != 4 {
		t.Errorf("%d have something left, want the 4 that are still there: %+v", len(left), left)
	}
	for _, l := range left {
		if l.User != nil && *l.User != user {
			t.Errorf("a pod's number is handed over: %+v", *l.User)
		}
	}
	bare := issue.PodUser(5)
	left = append(left, issue.Left{User: &bare})

	after, takes := process()
	after.Resume(left, func(pod string) uint32 { return map[string]uint32{"n/used": 2, "n/some": 1}[pod] })
	for who, want := range map[queue.User]int{
		issue.PodUser(2): 0, issue.PodUser(1): 40, issue.PodUser(3): burst, issue.PodUser(4): burst, bare: burst, user: 20,
	} {
		got := 0
		for takes(who, 1) == 1 {
			got++
		}
		if got != want {
			t.Errorf("%+v gets %d at once, want %d", who, got, want)
		}
	}
}
