package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
)

// servers are those of a coordinator. Members are counted from 0.
type servers interface {
	addresses() []string                            // each host:port
	urlOf(addresses []string, prefix string) string // what --coord takes
	kill(i int)                                     // at once, with no goodbye to anybody
	revive(i int)                                   // on its data and its address; it is ready then
	leader() int                                    // -1: none at the moment
	wipe()                                          // deletes the tree, and nothing else
	empty()                                         // has the servers begin anew, with no data
	backup() (restore func())                       // restore puts back what there was
	claims(prefix string) (int, error)              // claim nodes
}

// backends are all coordinators. Each drill runs on each of them.
var backends = []struct {
	name  string
	start func(t *testing.T, members int) servers
}{
	{"etcd", startEtcd},
	{"zookeeper", startZooKeeper},
}

func killAll(s servers) {
	for i := range s.addresses() {
		s.kill(i)
	}
}

type etcdServers struct {
	*testing.T
	*etcdtest.Cluster
	dir string
}

func startEtcd(t *testing.T, members int) servers {
	t.Helper()
	dir := t.TempDir()
	return &etcdServers{t, etcdtest.Start(t, etcdtest.Options{Members: members, Dir: dir}), dir}
}

func (e *etcdServers) addresses() []string { return e.Endpoints() }
func (e *etcdServers) kill(i int)          { e.Stop(i) }
func (e *etcdServers) leader() int         { return e.Leader() }
func (e *etcdServers) wipe()               { e.Wipe("/") }

func (e *etcdServers) revive(i int) { e.Start(i) }

func (e *etcdServers) urlOf(addresses []string, prefix string) string {
	return "etcd://" + strings.Join(addresses, ",") + "/" + prefix
}

func (e *etcdServers) empty() {
	e.Helper()
	e.StopAll()
	for _, d := range e.members() {
		if err := os.RemoveAll(d); err != nil {
			e.Fatal(err)
		}
	}
	e.StartAll()
}

func (e *etcdServers) members() []string {
	e.Helper()
	dirs, err := filepath.Glob(filepath.Join(e.dir, "*"))
	if err != nil || len(dirs) != len(e.Endpoints()) {
		e.Fatalf("the data of %d members is in %q, %v", len(e.Endpoints()), dirs, err)
	}
	return dirs
}

func (e *etcdServers) backup() (restore func()) {
	e.Helper()
	e.StopAll()
	kept := e.Backup()
	e.StartAll()
	return func() {
		e.Helper()
		e.StopAll()
		e.Restore(kept)
		e.StartAll()
	}
}

func (e *etcdServers) claims(prefix string) (int, error) {
	e.Helper()
	got, err := e.Client().Get(e.Context(), "/"+prefix+"/claims/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return int(got.Count), nil
}
