package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon"
)

// What a pod has left of its rate goes over to that pod at a takeover, whatever number it gets there:
// those that have used up their burst get none anew, and the others lose nothing.
func TestTakeoverLeavesPodsTheirOwnRates(t *testing.T) {
	c := withPods(t)
	c.Waiting.Rate, c.Waiting.MaxBlock = "1/s+1000", time.Second
	d := start(t, c)
	const pods, greedy, burst = 20, 7, 900
	allowed := func(of daemon.Config) bool {
		t.Helper()
		a := dial(t, of)
		a.send(fmt.Sprintf("NEXT %d\r\n", burst))
		got := a.line()
		if got != fmt.Sprint("*", burst) {
			if !strings.Contains(got, "UNAVAILABLE") {
				t.Fatalf("a pod gets %q", got)
			}
			return false
		}
		for range burst {
			a.id()
		}
		return true
	}
	var sockets []daemon.Config
	for i := range pods {
		of := served(t, pod(t, c, fmt.Sprint("p", i), fmt.Sprint("n/p", i)))
		if sockets = append(sockets, of); i < greedy && !allowed(of) {
			t.Fatalf("the pod %d does not get its burst", i)
		}
	}
	takeOver(t, takeOver(t, d))
	for i, of := range sockets {
		if got, want := allowed(of), i >= greedy; got != want {
			t.Errorf("after the takeovers, the pod %d gets a burst: %t, want %t", i, got, want)
		}
	}
}
