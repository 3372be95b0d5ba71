package update

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// movedHost is a host of the cluster that is moved, and the daemon that runs there.
type movedHost struct {
	*process.Host
	d *process.Daemon
}

// follows has the host's daemon taken over by one with another coordinator.
func (h *movedHost) follows(t *testing.T, url string) {
	t.Helper()
	h.names(url)
	before := h.d
	h.d = start(t, h.Host)
	<-before.Ended()
	if err := h.d.Await(t.Context(), "holds a worker ID"); err != nil {
		t.Fatal(err)
	}
}

// names has the host's next daemon be told of the coordinator.
func (h *movedHost) names(url string) { h.Flags[1] = url }

// operator is the program of who moves the cluster. It stops at its writes.
type operator struct {
	*testing.T
	program, stopAt string
	kills, aborts   int
	sealed          time.Duration // the longest, from the beginning of a move to its end
}

func (o *operator) command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	c := exec.CommandContext(ctx, o.program, append([]string{"move"}, args...)...)
	c.Env = append(os.Environ(), fault.StopAt+"="+o.stopAt)
	c.SysProcAttr = process.Orphanless()
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	return c, &said
}

// killed runs the command until it comes to the step, and kills it there.
func (o *operator) killed(at fault.Step, args ...string) {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.Context(), bound)
	defer cancel()
	if err := os.WriteFile(o.stopAt, []byte(at), 0o600); err != nil {
		o.Fatal(err)
	}
	c, said := o.command(ctx, args...)
	if err := c.Start(); err != nil {
		o.Fatal(err)
	}
	paused := process.AwaitPause(ctx, c.Process)
	_ = c.Process.Kill()
	if err := c.Wait(); paused != nil {
		o.Fatalf("move %v did not come to %s: %v, %v\n%s", args, at, paused, err, said)
	}
	o.kills++
}

// does runs the command to its end, and wants it to say so.
func (o *operator) does(want string, args ...string) {
	o.Helper()
	c, said := o.command(o.Context(), args...)
	_ = c.Run() // what it says shows how it ended
	if !strings.Contains(said.String(), want) {
		o.Fatalf("move %v does not say %q:\n%s", args, want, said)
	}
}

// place is where a move is killed, and whether it is taken back then. Taking it back is killed as well.
type place struct {
	at    fault.Step
	abort bool
}

// places are all where a move can be killed, in an order in which one move comes to all of them.
func places(abort bool) (all []place) {
	writes := []fault.Step{fault.MoveClosed, fault.MoveSealed, fault.MoveRecord, fault.MoveLeft, fault.MoveServing}
	if abort { // a record that was not written once is missing until the next cut, and perhaps no longer
		writes[1], writes[2] = writes[2], writes[1]
	}
	for _, write := range writes {
		all = append(all, place{write, abort}, place{write.After(), abort})
	}
	return all
}

// disturbed moves the cluster, with the operator killed at each of the places. Each is gone on with, or
// taken back and begun again.
func (o *operator) disturbed(from, to string, all []place) {
	o.Helper()
	begun := time.Now()
	for _, c := range all {
		o.killed(c.at, from, to, "--yes")
		if !c.abort {
			continue
		}
		switch c.at {
		case fault.MoveClosed, fault.MoveClosed.After(), fault.MoveSealed:
			o.does("nothing to take back", from, to, "--abort", "--yes")
		case fault.MoveLeft.After(), fault.MoveServing, fault.MoveServing.After():
			o.does("cannot be taken back", from, to, "--abort", "--yes")
			continue
		default:
			o.killed(fault.MoveServing, from, to, "--abort", "--yes")
			o.does("serves the cluster", from, to, "--abort", "--yes")
		}
		o.aborts++
	}
	o.does("moved: cluster", from, to, "--yes")
	o.sealed = max(o.sealed, time.Since(begun))
}

// A cluster of three daemons is moved from etcd to ZooKeeper and back under 20,000 requests a second.
// The operator's command is killed before and after each of its writes, and then gone on with or taken
// back. Each request is answered, no connection ends, each one's IDs rise, and none comes twice.
func TestMovesThatAreKilled(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	drill, err := drillBuild()
	if err != nil {
		t.Fatal(err)
	}
	etcd, zookeeper := etcdtest.Start(t, etcdtest.Options{}), zktest.Start(t, zktest.Options{})
	at := []string{etcd.URL("moves"), "zk://" + strings.Join(zookeeper.Addresses(), ",") + "/moves"}
	hosts, sockets := make([]*movedHost, 3), make([]string, 3)
	for i := range hosts {
		h, err := process.NewHost(program, sockettest.Dir(t)+"/h", "--coord", at[0], "--takeover", "--host", fmt.Sprint("host", i),
			"--publish", "500ms")
		if err != nil {
			t.Fatal(err)
		}
		hosts[i] = &movedHost{h, start(t, h)}
		sockets[i] = h.Socket
	}
	o := &operator{T: t, program: drill, stopAt: filepath.Join(t.TempDir(), "stop")}
	const rate, row = 20_000, 20
	c, begun := &clients{t: t}, time.Now()
	for _, socket := range sockets {
		c.open(socket, load.Config{Row: row, Window: 1, Rate: rate/len(sockets) + 1})
	}
	var followed, between time.Duration
	move := func(all []place) {
		between = max(between, c.wait())
		o.disturbed(at[0], at[1], all)
		between = max(between, c.wait())
		for _, h := range hosts {
			h.follows(t, at[1])
		}
		followed = max(followed, c.wait())
		at[0], at[1] = at[1], at[0]
	}
	if *long { // each cut there and back, a minute at the least
		each := append(places(false), places(true)...)
		for moves := 0; moves < 2*len(each) || time.Since(begun) < time.Minute; moves++ {
			at := (moves + moves/len(each)) % len(each)
			move(each[at : at+1])
		}
	} else {
		move(places(false))
		move(places(true))
	}
	took := time.Since(begun)
	n := distinct(t, c.end())
	t.Logf("FIGURE %d kills, %d moves taken back, %d IDs in %v (%.0f a second); the longest wait: %v while the cluster is moved, %v while the daemons "+
		"follow by takeover; a move took %v at most", o.kills, o.aborts, n, took.Round(time.Millisecond), float64(n)/took.Seconds(),
		between.Round(time.Millisecond), followed.Round(time.Millisecond), o.sealed.Round(time.Millisecond))
	if float64(n) < 0.95*rate*took.Seconds() {
		t.Errorf("%d IDs in %v are fewer than %d a second: the load is not the one that is promised", n, took, rate)
	}
}
