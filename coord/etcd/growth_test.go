package etcd_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

const notCompacted = "etcd has never compacted its history"

// A store that keeps all its history is told of once, when it is large. One that was compacted is
// not, and neither is a small one.
func TestAStoreThatIsNeverCompactedIsToldOf(t *testing.T) {
	for _, tt := range []struct {
		name     string
		compact  bool
		revision int64 // from which on it is asked
		asked    bool
		want     int
	}{
		{"large", false, 1, true, 1},
		{"compacted", true, 1, true, 0},
		{"small", false, 1000, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cluster := etcdtest.Start(t, etcdtest.Options{})
			log := &logtest.Buffer{}
			c, err := etcd.New(cluster.Client(), etcd.Config{TTL: 2 * time.Second, Identity: coord.Identity{Incarnation: "a"}, Log: log.At(hclog.Debug)})
			must.Do(t, err)
			etcd.SetManyRevisions(c, tt.revision)
			questions := make(chan error, 100)
			etcd.Intercept(c, func(ctx context.Context, k etcd.Kind, send func(context.Context) error) error {
				err := send(ctx)
				if k == etcd.KindGrowth {
					questions <- err
				}
				return err
			})
			coordtest.Join(t, c, coord.Layout{Text: "layout", Workers: 8})
			if tt.compact {
				for range 50 { // so many that they are not twice as many before the end: it would be asked again
					must.Get(cluster.Client().Put(t.Context(), "/other", "x"))(t)
				}
				must.Get(cluster.Client().Compact(t.Context(), 3))(t)
			}
			must.Get(c.Claim(t.Context(), coord.Request{Worker: coord.AnyWorker, Latest: 1000}))(t)
			if tt.asked { // with a renewal of the session
				if err := <-questions; errors.Is(err, rpctypes.ErrCompacted) != tt.compact {
					t.Errorf("etcd answered %v", err)
				}
			}
			coordtest.Close(t, c)
			etcd.LookAtGrowth(t.Context(), c)
			if len(questions) > 0 {
				t.Errorf("etcd was asked %d times more than it had to be", len(questions))
			}
			if n := strings.Count(log.String(), notCompacted); n != tt.want {
				t.Errorf("the log tells of it %d times, want %d:\n%s", n, tt.want, log)
			}
		})
	}
}
