package update

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// Many connections of many tenants, with bursts, are handed over as a few are: while
// they ask 50,000 times a second, and while they ask for all that there is.
func TestAnUpdateOfManyIsNotNoticed(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	etcd := etcdtest.Start(t, etcdtest.Options{})
	connections, updates := times(200, 2000), times(1, 10)
	for _, rate := range []int{50_000, 0} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			h, err := process.NewHost(program, sockettest.Dir(t)+"/h", "--coord", etcd.URL(fmt.Sprintf("many-%d", rate)), "--takeover",
				"--layout", "time=41@1ms,worker=8,tenant=4,sequence=10;epoch=2026-01-01", "--burst", "100ms", "--max-block", "1m")
			if err != nil {
				t.Fatal(err)
			}
			d := start(t, h)
			allHold(t, h, 1)
			c := &clients{t: t}
			for i := range connections {
				c.open(h.Socket, load.Config{Request: []string{"NEXT", "TENANT", fmt.Sprint(i % 10)}, Row: 1 + i%longestRow, Window: 1, Rate: rate / connections})
			}
			<-time.After(500 * time.Millisecond)
			longest, began := time.Duration(0), c.wait()
			for i := range updates {
				c.wait()
				next := start(t, h)
				<-d.Ended()
				allHold(t, h, i+2)
				longest, d = max(longest, c.wait()), next
			}
			n := distinct(t, c.end())
			t.Logf("FIGURE %d updates of %d connections, %d IDs: the longest wait was %v, %v without an update", updates, connections, n,
				longest.Round(time.Millisecond), began.Round(time.Millisecond))
		})
	}
}

// allHold waits until the host's daemons have claimed so many worker IDs, each of them counted.
func allHold(t *testing.T, h *process.Host, n int) {
	t.Helper()
	for {
		log, err := os.ReadFile(h.Log)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(log, []byte(`"holds a worker ID"`)) >= n {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
