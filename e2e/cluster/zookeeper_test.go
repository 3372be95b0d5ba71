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

func (z *zkServers) claims(prefix string) (int, error) {
	z.Helper()
	children, _, err := z.Client().Children("/" + prefix + "/claims")
	if errors.Is(err, zookeeper.ErrNoNode) {
		return 0, nil
	}
	return len(children), err
}
