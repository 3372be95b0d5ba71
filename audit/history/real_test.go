package history_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func TestMain(m *testing.M) { os.Exit(zktest.Main(m)) }

// raw is a record as the servers answer it.
type raw struct {
	order   int64 // 0: there is none
	version int64 // from 1
	value   []byte
}

// servers are real ones, and their history.
type servers struct {
	url     func(tree string) string
	record  func(t *testing.T, tree string, worker int) raw
	remove  func(t *testing.T, tree string, worker int)
	history func(t *testing.T, tree string) []history.Version
	restart func()
}

func onEtcd(t *testing.T, members int) servers {
	c := etcdtest.Start(t, etcdtest.Options{Members: members})
	return servers{
		url: c.URL,
		record: func(t *testing.T, tree string, worker int) raw {
			got := must.Get(c.Client().Get(t.Context(), path(tree, worker)))(t)
			if len(got.Kvs) == 0 {
				return raw{}
			}
			return raw{got.Kvs[0].ModRevision, got.Kvs[0].Version, got.Kvs[0].Value}
		},
		remove: func(t *testing.T, tree string, worker int) {
			must.Get(c.Client().Delete(t.Context(), path(tree, worker)))(t)
		},
		history: func(t *testing.T, tree string) []history.Version {
			return must.Get(history.Etcd(t.Context(), c.Client(), tree))(t)
		},
		restart: func() { c.StopAll(); c.StartAll() },
	}
}

func path(tree string, worker int) string { return fmt.Sprintf("/%s/workers/%07d", tree, worker) }

func onZooKeeper(t *testing.T, options zktest.Options) servers {
	e := zktest.Start(t, options)
	c := e.Client()
	return servers{
		url: func(tree string) string { return zkURL(e, tree) },
		record: func(t *testing.T, tree string, worker int) raw {
			var value []byte
			var stat *gozk.Stat
			persist(t, func() (err error) {
				if err = zkserver.CatchUp(c); err == nil {
					value, stat, err = c.Get(path(tree, worker))
				}
				return err
			})
			if stat == nil {
				return raw{}
			}
			return raw{stat.Mzxid, int64(stat.Version) + 1, value}
		},
		remove: func(t *testing.T, tree string, worker int) {
			must.Do(t, c.Delete(path(tree, worker), -1))
		},
		history: func(t *testing.T, tree string) []history.Version { return zkHistory(t, e, tree) },
		restart: func() { e.Stop(); e.Start() },
	}
}

func zkURL(e *zktest.Ensemble, tree string) string {
	return "zk://" + strings.Join(e.Addresses(), ",") + "/" + tree
}

func zkHistory(t *testing.T, e *zktest.Ensemble, tree string) []history.Version {
	t.Helper()
	var dirs []string
	for i := range e.Members() {
		dirs = append(dirs, e.Data(i))
	}
	return must.Get(history.ZooKeeper(dirs, tree))(t)
}

// persist tries again while the servers are not there.
func persist(t *testing.T, f func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := f()
		if err == nil || err == gozk.ErrNoNode {
			return
		}
		pause, stop := context.WithTimeout(ctx, 20*time.Millisecond)
		<-pause.Done()
		stop()
		if ctx.Err() != nil {
			t.Fatalf("not within a minute: %v", err)
		}
	}
}

// recorder notes each version of a record as it is made.
type recorder struct {
	servers
	t    *testing.T
	tree string
	last map[int]raw
	seen []history.Version
}

func newRecorder(t *testing.T, s servers, tree string) *recorder {
	return &recorder{servers: s, t: t, tree: tree, last: map[int]raw{}}
}

// look notes the record's version, which is to be the next one.
func (w *recorder) look(worker int) {
	w.t.Helper()
	now, last := w.record(w.t, w.tree, worker), w.last[worker]
	w.last[worker] = now
	if now.order == 0 || now.version != last.version+1 {
		w.t.Fatalf("worker ID %d: version %d after %d", worker, now.version, last.version)
	}
	v := history.Version{Order: now.order, Worker: worker}
	must.Do(w.t, json.Unmarshal(now.value, &v))
	w.seen = append(w.seen, v)
}

func (w *recorder) open() coord.Coordinator {
	w.t.Helper()
	id := coord.Identity{Host: "h", Incarnation: rand.Text()}
	c := must.Get(connect.Open(w.t.Context(), connect.Config{URL: w.url(w.tree), TTL: 30 * time.Second, Identity: id}))(w.t)
	w.t.Cleanup(func() { _ = c.Close() })
	coordtest.Join(w.t, c, coord.Layout{Text: "layout", Workers: 1024})
	return c
}

func (w *recorder) claim(c coord.Coordinator, worker int) coord.Claim {
	w.t.Helper()
	claim, err := c.Claim(w.t.Context(), coord.Request{Worker: worker, Latest: 1 << 40})
	if err != nil || claim.Worker() != worker {
		w.t.Fatalf("claim worker ID %d: %v", worker, err)
	}
	w.look(worker)
	return claim
}

func (w *recorder) extend(claim coord.Claim, ceiling generator.Tick) {
	w.t.Helper()
	must.Do(w.t, claim.Extend(w.t.Context(), coord.Progress{Ceiling: ceiling, Issued: ceiling - 50}))
	w.look(claim.Worker())
}

func (w *recorder) release(claim coord.Claim, last generator.Tick) {
	w.t.Helper()
	must.Do(w.t, claim.Release(w.t.Context(), coordtest.Closed(last)))
	w.look(claim.Worker())
}

func (w *recorder) delete(worker int) {
	w.t.Helper()
	w.remove(w.t, w.tree, worker)
	delete(w.last, worker)
	w.seen = append(w.seen, history.Version{Worker: worker, Gone: true})
}

// compare wants the history to be just what was seen. The orders of deletions, which
// nobody is told, are checked to lie between their neighbours'.
func (w *recorder) compare() {
	w.t.Helper()
	got := w.history(w.t, w.tree)
	want := slices.Clone(w.seen)
	for i := range min(len(got), len(want)) {
		if want[i].Gone && (got[i].Order > want[i-1].Order && (i+1 == len(want) || got[i].Order < want[i+1].Order)) {
			want[i].Order = got[i].Order
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("history\n%s\nwant\n%s", text(got), text(want))
	}
}

func text(versions []history.Version) (s string) {
	for _, v := range versions {
		s += fmt.Sprintf("%+v\n", v)
	}
	return s
}

func TestHistory(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) servers{
		"etcd, one member":       func(t *testing.T) servers { return onEtcd(t, 1) },
		"etcd, three members":    func(t *testing.T) servers { return onEtcd(t, 3) },
		"ZooKeeper, one server":  func(t *testing.T) servers { return onZooKeeper(t, zktest.Options{}) },
		"ZooKeeper, three of it": func(t *testing.T) servers { return onZooKeeper(t, zktest.Options{Members: 3}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			if got := s.history(t, "none"); len(got) != 0 {
				t.Fatalf("a tree that is not there has %s", text(got))
			}
			w, other := newRecorder(t, s, "tree"), newRecorder(t, s, "tree2")
			a, b := w.open(), w.open()
			noise := other.claim(other.open(), 3)
			for round := range generator.Tick(3) {
				base := round * 10000
				one, two := w.claim(a, 3), w.claim(b, 700)
				for i := range generator.Tick(5) {
					w.extend(one, base+(i+1)*1000)
					w.extend(two, base+(i+1)*1001)
					other.extend(noise, base+(i+1)*100)
				}
				w.release(one, base+4321)
				taken := w.claim(b, 3)
				w.extend(taken, base+9000)
				w.release(taken, base+8500)
				w.release(two, base+8500)
				w.delete(3)
				w.compare()
				other.compare()
				if round == 1 {
					must.Do(t, a.Close())
					w.restart()
					w.compare()
					persist(t, func() error { _, err := w.open().Members(t.Context()); return err })
					a, b = w.open(), w.open()
					noise = other.claim(other.open(), 4)
				}
			}
		})
	}
}

func TestEtcdCompacted(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	client := c.Client()
	var last *clientv3.PutResponse
	for i := range 3000 {
		last = must.Get(client.Put(t.Context(), path("f", 1), string(stored("h", i))))(t)
	}
	got, err := history.Etcd(t.Context(), client, "/f/")
	if err != nil || len(got) != 3000 || got[2999].Ceiling != 2999 || got[2999].Order != last.Header.Revision {
		t.Fatalf("%d versions, %v", len(got), err)
	}
	must.Get(client.Compact(t.Context(), last.Header.Revision-10))(t)
	if got, err := history.Etcd(t.Context(), client, "/f/"); err == nil {
		t.Errorf("%d versions after a compaction", len(got))
	} else {
		t.Log(err)
	}
}
