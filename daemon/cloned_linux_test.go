//go:build amd64 || arm64

package daemon_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
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

// load is what some connections ask for and get, without an end.
type load struct {
	r      *running
	layout *generator.Layout
	old    atomic.Pointer[[]string] // the worker IDs of which nothing may come any more
	stop   atomic.Bool
	served []atomic.Int64 // replies, by connection
	seen   []map[int64]bool
	done   sync.WaitGroup
}

func (r *running) load(connections int) *load {
	l := &load{r: r, layout: layoutOf(r.t, r.config), served: make([]atomic.Int64, connections), seen: make([]map[int64]bool, connections)}
	l.old.Store(new([]string))
	for i := range connections {
		l.seen[i] = map[int64]bool{}
		l.done.Go(func() { l.connection(i) })
	}
	return l
}

func (l *load) connection(i int) {
	t := l.r.t
	pool := redis.NewClient(&redis.Options{Network: "unix", Addr: l.r.config.Socket.Path, MaxRetries: -1, PoolSize: 1, ReadTimeout: time.Minute})
	defer func() { _ = pool.Close() }()
	conn := pool.Conn() // the same one all the time
	defer func() { _ = conn.Close() }()
	last := int64(0)
	for n := 1; !l.stop.Load(); n++ {
		old := *l.old.Load()
		ids, err := conn.Do(t.Context(), "NEXT", 1+n%3*50).Int64Slice()
		if refused := redis.Error(nil); err != nil && !errors.As(err, &refused) {
			return // the daemon has ended
		}
		if err != nil {
			t.Errorf("connection %d: %v", i, err)
			return
		}
		for _, id := range ids {
			if id <= last {
				t.Errorf("connection %d: ID %d came after %d", i, id, last)
			}
			last = id
			l.seen[i][id] = true
			if parts, err := l.layout.Decompose(id); err != nil || slices.Contains(old, strconv.FormatUint(parts.Worker, 10)) {
				t.Errorf("connection %d: ID %d (%+v, %v) was asked for after the machine was cloned, and comes from its original's worker ID", i, id, parts, err)
				return
			}
		}
		l.served[i].Add(1)
	}
}

// each waits until each connection has had so many more replies.
func (l *load) each(more int64) {
	l.r.t.Helper()
	for i := range l.served {
		want := l.served[i].Load() + more
		l.r.until("replies on each connection", func(map[string]string) bool { return l.r.t.Failed() || l.served[i].Load() >= want })
	}
}

// end ends the load; no ID may have come twice.
func (l *load) end() (ids int) {
	l.stop.Store(true)
	l.done.Wait()
	all := map[int64]bool{}
	for _, seen := range l.seen {
		ids += len(seen)
		maps.Copy(all, seen)
	}
	if len(all) != ids {
		l.r.t.Errorf("%d IDs came twice", ids-len(all))
	}
	return ids
}

// A clone ends at once, under load: whatever is asked for once the machine was cloned gets no ID, and the
// original's claim and record are as they were. The next start on the clone gets another worker ID.
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
			l := r.load(6)
			l.each(20)
			machine.clone(8)
			gone := []string{before["worker_id"]}
			l.old.Store(&gone)
			if err := r.End(); !errors.Is(err, grant.ErrCopied) {
				t.Errorf("the clone ends with %v", err)
			}
			t.Logf("%d IDs", l.end())
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

// What is at the path and is no VMClock is named in the log, and changes nothing else.
func TestWithoutAVMClock(t *testing.T) {
	for path, says := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "[DEBUG]", os.Args[0]: "[WARN]",
	} {
		c := config(dir(t))
		c.VMClock = path
		r := start(t, c)
		r.next()
		r.Stop()
		line := ""
		for l := range strings.Lines(r.log.String()) {
			if strings.Contains(l, "a copy of the running machine") {
				line = l
			}
		}
		if (line == "") != (says == "") || !strings.Contains(line, says) || !strings.Contains(line, path) {
			t.Errorf("at %q: the log has %q, want a line with %q", path, line, says)
		}
	}
}
