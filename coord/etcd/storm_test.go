package etcd_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
)

// long outlasts a machine that is busy with other tests, under the race detector.
const long = 60 * time.Second

func TestStorm(t *testing.T) {
	c := etcdtest.Start(t, etcdtest.Options{})
	coordtest.Storm(t, 1000, func(identity coord.Identity) (coord.Coordinator, error) {
		return etcd.Dial(etcd.Servers{Endpoints: c.Endpoints()}, etcd.Config{Identity: identity, TTL: long, TryTimeout: long})
	})
}
