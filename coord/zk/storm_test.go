package zk_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
)

// long outlasts a machine that is busy with other tests, under the race detector.
const long = 60 * time.Second

func TestStorm(t *testing.T) {
	e := zktest.Start(t, zktest.Options{})
	coordtest.Storm(t, 1000, func(identity coord.Identity) (coord.Coordinator, error) {
		return zk.Dial(zk.Servers{Addresses: e.Addresses()}, zk.Config{Identity: identity, Timeout: long, TryTimeout: long})
	})
}
