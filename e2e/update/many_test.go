package update

import (
	"fmt"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// Many connections of many tenants, on many lanes with bursts, are handed over as a few are.
func TestAnUpdateOfManyIsNotNoticed(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	connections, lanes, updates := times(200, 2000), times(8, 64), times(1, 10)
	h, err := process.NewHost(program, sockettest.Dir(t)+"/h", "--coord", etcdtest.Start(t, etcdtest.Options{}).URL("many"), "--takeover",
		"--lanes", fmt.Sprint(lanes), "--layout", "time=41@1ms,worker=8,tenant=4,sequence=10;epoch=2026-01-01", "--burst", "100ms", "--max-block", "1m")
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, h)
	c := askFor(t, h.Socket, connections, map[int64]struct{}{}, false, func(i int) string {
		return fmt.Sprintf("*3\r\n$4\r\nNEXT\r\n$6\r\nTENANT\r\n$1\r\n%d\r\n", i%10)
	})
	longest, began := time.Duration(0), c.wait()
	for range updates {
		c.wait()
		next := start(t, h)
		<-d.Ended()
		if err := next.Await(t.Context(), "holds a worker ID"); err != nil {
			t.Fatal(err)
		}
		longest, d = max(longest, c.wait()), next
	}
	n := c.end()
	t.Logf("FIGURE %d updates of %d connections on %d lanes, %d IDs: the longest wait was %v, %v at the beginning", updates, connections, lanes, n,
		longest.Round(time.Millisecond), began.Round(time.Millisecond))
}
