package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/generator"
)

// contains wants each version that was seen to be in the history, and the history to
// have as many as the record has had.
func (w *recorder) contains(worker int) {
	w.t.Helper()
	w.look(worker, true)
	all := map[history.Version]bool{}
	got := slices.DeleteFunc(w.history(w.t, w.tree), func(v history.Version) bool { return v.Worker != worker })
	for _, v := range got {
		all[v] = true
	}
	for _, v := range w.seen {
		if !all[v] {
			w.t.Fatalf("%+v was seen and is not in the history\n%s", v, text(got))
		}
	}
	if want := w.last[worker].version; int64(len(got)) != want {
		w.t.Fatalf("%d versions, and the record has had %d", len(got), want)
	}
	if last := got[len(got)-1]; last.Order != w.last[worker].order {
		w.t.Fatalf("the last one is %+v, and the record has zxid %d", last, w.last[worker].order)
	}
}

// Leaders are killed under a writer, and all servers at once.
func TestZooKeeperLeadersKilled(t *testing.T) {
	t.Parallel()
	e, s := onZooKeeper(t, zktest.Options{Members: 3})
	w := newRecorder(t, s, "tree")
	// Another holds the worker ID before.
	c := w.open()
	w.release(w.claim(c, 1), 10)
	stop, written := make(chan struct{}), make(chan int, 1000)
	claim := w.claim(c, 1)
	done := make(chan []int, 1)
	go func() {
		var acknowledged []int
		for n := 1; ; n++ {
			select {
			case <-stop:
				done <- acknowledged
				return
			default:
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			err := claim.Extend(ctx, coord.Progress{Ceiling: generator.Tick(n * 100), Issued: generator.Tick(n), Mark: generator.Tick(n)})
			if errors.Is(err, coord.ErrLost) { // its session was too short for this machine
				if again, err := coordtest.Claim(ctx, c, coord.Request{Worker: 1, Latest: 1 << 40}); err == nil {
					if again.Worker() == 1 {
						claim = again
					} else {
						_ = again.Release(ctx, 0) // of no interest here
					}
				}
			}
			cancel()
			if err == nil {
				acknowledged = append(acknowledged, n)
				select {
				case written <- n:
				default:
				}
			}
		}
	}()
	more := func() {
		t.Helper()
		for len(written) > 0 {
			<-written
		}
		for range 5 {
			select {
			case <-written:
			case <-time.After(time.Minute):
				t.Fatal("nothing was written for a minute")
			}
		}
	}
	for round := range 4 {
		more()
		leader := e.Leader()
		e.Kill(leader)
		more()
		zkHistory(t, e, "tree") // while it is written to
		e.Start(leader)
		if round%2 == 1 {
			e.Kill()
			zkHistory(t, e, "tree")
			e.Start()
		}
		e.Ready()
		more()
		w.look(1, true)
	}
	close(stop)
	acknowledged := <-done
	marks := map[generator.Tick]bool{}
	for _, v := range zkHistory(t, e, "tree") {
		marks[v.Mark] = true
	}
	for _, n := range acknowledged {
		if !marks[generator.Tick(n)] {
			t.Errorf("mark %d was acknowledged and is not in the history", n)
		}
	}
	w.contains(1)
	e.Stop()
	e.Start()
	w.contains(1)
	t.Logf("%d acknowledged", len(acknowledged))
}

const orphan = "ORPHAN"

func stored(holder string, ceiling int) []byte {
	return fmt.Appendf(nil, `{"ceiling":%d,"issued":0,"mark":0,"holder":%q,"claim":"c","nonce":"n"}`, ceiling, holder)
}

// inLog says whether any of the member's log files has the text.
func inLog(t *testing.T, e *zktest.Ensemble, member int, text string) bool {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(e.Data(member), "version-2", "log.*"))
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && bytes.Contains(content, []byte(text)) {
			return true
		}
	}
	return false
}

// A leader logs what nobody else gets, and dies. The others go on without it. When it
// comes back it is sent a snapshot: what it had alone stays in its log for ever.
func TestZooKeeperRolledBack(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{Members: 3, Tick: 2 * time.Second})
	c := e.Client()
	put := func(ceiling int) {
		t.Helper()
		persist(t, func() error {
			_, err := c.Set("/f/workers/0000001", stored("h", ceiling), -1)
			return err
		})
	}
	for _, node := range []string{"/f", "/f/workers"} {
		if _, err := c.Create(node, nil, 0, gozk.WorldACL(gozk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Create("/f/workers/0000001", stored("h", 1), 0, gozk.WorldACL(gozk.PermAll)); err != nil {
		t.Fatal(err)
	}
	put(2)

	leader := e.Leader()
	own, err := zkserver.Connect(e.Addresses()[leader : leader+1])
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if _, _, err := own.Get("/f/workers/0000001"); err != nil {
		t.Fatal(err)
	}
	others := []int{(leader + 1) % 3, (leader + 2) % 3}
	e.Kill(others...)
	var asked sync.WaitGroup
	asked.Go(func() { _, _ = own.Set("/f/workers/0000001", stored(orphan, 1000), -1) }) // it fails
	persist(t, func() error {
		if !inLog(t, e, leader, orphan) {
			return os.ErrNotExist
		}
		return nil
	})
	e.Kill(leader)
	asked.Wait()
	check := func(when string, want int) {
		t.Helper()
		got := zkHistory(t, e, "f")
		if len(got) != want || got[want-1].Ceiling != generator.Tick(want) {
			t.Fatalf("%s: %d versions, want %d\n%s", when, len(got), want, text(got))
		}
	}
	check("all dead", 2)
	e.Start(others...)
	put(3)
	check("without the leader", 3)
	e.Start(leader)
	e.Ready()
	put(4)
	t.Logf("still in the log: %v", inLog(t, e, leader, orphan))
	check("the leader is back", 4)
	e.Stop()
	e.Start()
	put(5)
	check("all started again", 5)
}
