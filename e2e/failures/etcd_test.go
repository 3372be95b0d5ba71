//go:build linux

package failures

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/process"
)

// etcdOn starts an etcd with a member on each of the disks, which may fail.
func etcdOn(t *testing.T, disks ...string) *etcdtest.Cluster {
	t.Helper()
	o := etcdtest.Options{Members: len(disks), Dir: t.TempDir(), Frail: true}
	for i, disk := range disks {
		at := filepath.Join(disk, "etcd")
		must.Do(t, os.Mkdir(at, 0o700), os.Symlink(at, filepath.Join(o.Dir, fmt.Sprint("m", i))))
	}
	return etcdtest.Start(t, o)
}

// learnerOf adds a member that may not vote, and returns its address.
func learnerOf(t *testing.T, e *etcdtest.Cluster, release string) (address string) {
	t.Helper()
	address, peer := free(t), "http://"+free(t)
	all := []string{"learner=" + peer}
	e.Do("", func(ctx context.Context, c *clientv3.Client) error {
		added, err := c.MemberAddAsLearner(ctx, []string{peer})
		if err != nil {
			return err
		}
		for _, m := range added.Members {
			if m.Name != "" {
				all = append(all, m.Name+"="+m.PeerURLs[0])
			}
		}
		return nil
	})
	command := exec.Command(need.Etcd(t, release), "--name", "learner", "--data-dir", t.TempDir()+"/learner", "--initial-cluster-state", "existing",
		"--initial-cluster", strings.Join(all, ","), "--heartbeat-interval", "50", "--election-timeout", "500",
		"--listen-client-urls", "http://"+address, "--advertise-client-urls", "http://"+address,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer)
	must.Do(t, process.Spawn(command))
	t.Cleanup(func() {
		_ = command.Process.Kill() // it does not end by itself
		_ = command.Wait()
	})
	c := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{address}}))(t)
	defer c.Close() // it was only asked
	must.Eventually(t, "the learner answers", func() error {
		_, err := c.Status(t.Context(), address)
		return err
	})
	return address
}
