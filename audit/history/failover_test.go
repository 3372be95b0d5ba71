package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

const orphan = "ORPHAN"

func stored(holder string, ceiling int) []byte {
	return fmt.Appendf(nil, `{"ceiling":%d,"issued":0,"holder":%q,"claim":"c","nonce":"n"}`, ceiling, holder)
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
			_, err := c.Set(path("f", 1), stored("h", ceiling), -1)
			return err
		})
	}
	create := func(node string, value []byte) {
		t.Helper()
		must.Get(c.Create(node, value, 0, gozk.WorldACL(gozk.PermAll)))(t)
	}
	create("/f", nil)
	create("/f/workers", nil)
	create(path("f", 1), stored("h", 1))
	put(2)

	leader := e.Leader()
	own := must.Get(zkserver.Connect(e.Addresses()[leader : leader+1]))(t)
	defer own.Close()
	_, _, err := own.Get(path("f", 1))
	must.Do(t, err)
	others := []int{(leader + 1) % 3, (leader + 2) % 3}
	e.Kill(others...)
	var asked sync.WaitGroup
	asked.Go(func() { _, _ = own.Set(path("f", 1), stored(orphan, 1000), -1) }) // it fails
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
