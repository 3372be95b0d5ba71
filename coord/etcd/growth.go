package etcd

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// manyRevisions is how many revisions a store may have before it is asked whether it keeps all
	// of them. At about 0.6 KB for each publish they are 60 MB of etcd's 2 GB.
	manyRevisions = 100_000
	// growthTimeout bounds the question. It delays the renewal of the session after it.
	growthTimeout = 500 * time.Millisecond
	kindGrowth    = kind("look for the first revision")
)

// growth finds out whether etcd keeps all its history: it compacts nothing unless it is told to,
// and every publish is a revision. Then its quota is used up one day, and nothing is granted any
// more. The sign is that the first revision can still be read. One goroutine calls look at a time.
type growth struct {
	txns *transactions
	next int64 // the revision from which on etcd is asked again
	log  hclog.Logger
}

// look asks once for each doubling of the revisions, and says so once.
func (g *growth) look(ctx context.Context) {
	if g.txns == nil {
		return
	}
	revision := g.txns.past.revision()
	if revision < g.next {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, growthTimeout)
	defer cancel()
	_, err := g.txns.commit(ctx, kindGrowth, nil, []clientv3.Op{clientv3.OpGet(g.txns.layout, clientv3.WithRev(1))}, nil)
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		g.next = 2 * revision
	case err == nil:
		g.next = math.MaxInt64
		g.log.Warn("etcd has never compacted its history, which grows with each publish until its space quota is used up: "+
			"start its members with --auto-compaction-mode=periodic --auto-compaction-retention=1h", "code", "etcd-not-compacted", "revisions", revision)
	}
}
