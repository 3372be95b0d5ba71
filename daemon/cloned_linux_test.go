//go:build amd64 || arm64

package daemon_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/internal/must"
)

// hypervisor shows the daemon a VMClock in a file.
type hypervisor struct {
	t    *testing.T
	path string
}

func newHypervisor(t *testing.T, generation uint64) hypervisor {
	t.Helper()
	page := make([]byte, 4096)
	binary.LittleEndian.PutUint32(page[0:], 0x4b4c4356)
	binary.LittleEndian.PutUint32(page[4:], 4096)
	binary.LittleEndian.PutUint16(page[8:], 1)
	binary.LittleEndian.PutUint64(page[24:], 1<<8)
	binary.LittleEndian.PutUint64(page[104:], generation)
	h := hypervisor{t, filepath.Join(t.TempDir(), "vmclock0")}
	must.Do(t, os.WriteFile(h.path, page, 0o600))
	return h
}

// clone makes the machine that the daemon runs in a clone of itself.
func (h hypervisor) clone(generation uint64) {
	h.t.Helper()
	f, err := os.OpenFile(h.path, os.O_WRONLY, 0)
	must.Do(h.t, err)
	_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, generation), 104)
	must.Do(h.t, errors.Join(err, f.Close()))
}

// watched is the cluster of a daemon as an operator sees it.
func watched(t *testing.T, c daemon.Config) (members map[string]coord.Member, marks map[int]coord.Mark) {
	t.Helper()
	access, err := c.Access()
	must.Do(t, err)
	o := must.Get(connect.Operate(access))(t)
	defer func() { _ = o.Close() }()
	_, err = o.Inspect(t.Context())
	all, listing := o.Members(t.Context())
	records, reading := o.Marks(t.Context())
	must.Do(t, errors.Join(err, listing, reading))
	members, marks = map[string]coord.Member{}, map[int]coord.Mark{}
	for _, m := range all {
		members[m.Claim] = m
	}
	for _, m := range records {
		marks[m.Worker] = m
	}
	return members, marks
}

// load asks for IDs on some connections until the daemon ends, and counts the replies. Whatever is
// asked for once the machine was cloned must get none.
func (r *running) load(connections int, replies *atomic.Int64, cloned *atomic.Bool) *sync.WaitGroup {
	var asking sync.WaitGroup
	for range connections {
		a := dial(r.t, r.config)
		asking.Go(func() {
			for {
				late := cloned.Load()
				if _, err := a.conn.Write([]byte("NEXT\r\n")); err != nil {
					return
				}
				line, err := a.replies.ReadString('\n')
				if err != nil {
					return
				}
				if replies.Add(1); late && line[0] == ':' {
					r.t.Errorf("the ID %s was asked for after the machine was cloned", line)
				}
			}
		})
	}
	return &asking
}

// A clone ends at once, under load: whatever is asked for once the machine was cloned gets no ID,
// and the original's claim and record are as they were. The next start on the clone gets another
// worker ID.
func TestACloneUnderLoad(t *testing.T) {
	etcd, zookeeper := etcdtest.Start(t, etcdtest.Options{}), zktest.Start(t, zktest.Options{})
	for name, url := range map[string]string{"etcd": etcd.URL("test"), "ZooKeeper": "zk://" + strings.Join(zookeeper.Addresses(), ",") + "/test"} {
		t.Run(name, func(t *testing.T) {
			machine := newHypervisor(t, 7)
			c := config(dir(t))
			c.VMClock, c.Cluster.Coord, c.Cluster.TTL = machine.path, url, 2*time.Minute
			r := start(t, c)
			before := r.info()
			claims, marks := watched(t, c)
			var replies atomic.Int64
			var cloned atomic.Bool
			asking := r.load(6, &replies, &cloned)
			r.until("a load", func(map[string]string) bool { return replies.Load() > 200 })
			machine.clone(8)
			cloned.Store(true)
			if err := r.End(); !errors.Is(err, grant.ErrCopied) {
				t.Errorf("the clone ends with %v", err)
			}
			asking.Wait()
			if !strings.Contains(r.log.String(), "so this process is a copy") {
				t.Errorf("the log does not say it:\n%s", r.log)
			}
			again := start(t, c)
			again.next()
			if got := again.info()["worker_id"]; got == before["worker_id"] {
				t.Errorf("the next start has its original's worker ID %s", got)
			}
			now, later := watched(t, c)
			for claim, m := range claims {
				if n, there := now[claim]; !there || n.Opening != m.Opening || later[m.Worker].Ceiling < marks[m.Worker].Ceiling {
					t.Errorf("the original's claim was %+v and is %+v, %v", m, n, there)
				}
			}
		})
	}
}
