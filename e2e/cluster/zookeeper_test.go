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
func (z *zkServers) kill(i int)          { z.Kill(i) }
func (z *zkServers) revive(i int)        { z.Ensemble.Start(i) }
func (z *zkServers) leader() int         { return z.Leader() }

func (z *zkServers) urlOf(addresses []string, prefix string) string {
	return "zk://" + strings.Join(addresses, ",") + "/" + prefix
}

func (z *zkServers) wipe() {
	z.Helper()
	client := z.Client()
	var clear func(path string)
	clear = func(path string) {
		children, _, err := client.Children(path)
		if err != nil && !errors.Is(err, zookeeper.ErrNoNode) {
			z.Fatal(err)
		}
		for _, c := range children {
			clear(path + "/" + c)
		}
		switch err := client.Delete(path, -1); {
		case errors.Is(err, zookeeper.ErrNotEmpty):
			clear(path) // a daemon that runs has made a node in between
		case err != nil && !errors.Is(err, zookeeper.ErrNoNode):
			z.Fatal(err)
		}
	}
	clear("/drill")
}

func (z *zkServers) empty() {
	z.Helper()
	z.Stop()
	z.Wipe()
	z.Ensemble.Start()
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
