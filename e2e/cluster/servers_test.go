package cluster

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
)

// servers are those of a coordinator. Members are counted from 0.
type servers interface {
	addresses() []string                                // each host:port
	urlOf(addresses []string, prefix string) string     // what --coord takes
	backup() (restore func())                           // restore puts back what there was
	claims(prefix string) (sessions []int64, err error) // of each claim node
}

// backends are all coordinators. Each drill runs on each of them.
var backends = []struct {
	name  string
	start func(t *testing.T, members int) servers
}{
	{"etcd", startEtcd},
	{"zookeeper", startZooKeeper},
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

func (e *etcdServers) urlOf(addresses []string, prefix string) string {
	return "etcd://" + strings.Join(addresses, ",") + "/" + prefix
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

func (e *etcdServers) claims(prefix string) (sessions []int64, err error) {
	e.Helper()
	got, err := e.Client().Get(e.Context(), "/"+prefix+"/claims/", clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	for _, node := range got.Kvs {
		sessions = append(sessions, node.Lease)
	}
	return sessions, nil
}
