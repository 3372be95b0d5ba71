//go:build amd64 || arm64

package daemon_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
)

// A clone that cannot start anew ends with the reason, whether or not that would pass.
func TestACloneThatCannotStartAnewEndsTheDaemon(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, etcdtest.Options{})
	for name, test := range map[string]struct {
		hinder func(r *running)
		says   []string
	}{
		"the state directory": {func(r *running) {
			must.Do(t, os.Chmod(r.config.StateDir, 0o777))
		}, []string{"cloned or put back", "start anew", "chmod it to 0700"}},
		"a coordinator that is away": {func(*running) { etcd.StopAll() }, []string{"--start-timeout", etcd.Endpoint(0)}},
	} {
		machine := newHypervisor(t, 0)
		c := config(dir(t))
		c.VMClock, c.Cluster.Coord, c.Cluster.TTL, c.Cluster.StartTimeout = machine.path, etcd.URL("test"), time.Minute, 5*time.Second
		etcd.StartAll()
		r := start(t, c)
		r.next()
		test.hinder(r)
		machine.clone(1)
		err := r.End()
		for _, text := range test.says {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: the daemon ended with %v, which does not say %q", name, err, text)
			}
		}
		if _, err := r.do("NEXT"); err == nil {
			t.Errorf("%s: an ID of a daemon that has ended", name)
		}
	}
}
