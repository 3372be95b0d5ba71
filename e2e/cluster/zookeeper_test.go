package cluster

import (
	"errors"
	"strings"
	"testing"

	zookeeper "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/zk/zktest"
)

type zkServers struct {
	*testing.T
	*zktest.Ensemble
}

func startZooKeeper(t *testing.T, members int) servers {
	t.Helper()
	return &zkServers{t, zktest.Start(t, zktest.Options{Members: members})}
}

func (z *zkServers) addresses() []string { return z.Addresses() }

func (z *zkServers) urlOf(addresses []string, prefix string) string {
	return "zk://" + strings.Join(addresses, ",") + "/" + prefix
}

func (z *zkServers) backup() (restore func()) {
	z.Helper()
	z.Stop()
	kept := z.Backup()
	z.Ensemble.Start()
	return func() {
		z.Helper()
		z.Stop()
		z.Restore(kept)
		z.Ensemble.Start()
	}
}

func (z *zkServers) claims(prefix string) (sessions []int64, err error) {
	z.Helper()
	client, parent := z.Client(), "/"+prefix+"/claims"
	children, _, err := client.Children(parent)
	if errors.Is(err, zookeeper.ErrNoNode) {
		return nil, nil
	}
	for _, name := range children {
		there, node, err := client.Exists(parent + "/" + name)
		if err != nil {
			return nil, err
		}
		if there {
			sessions = append(sessions, node.EphemeralOwner)
		}
	}
	return sessions, err
}
