package etcd

import (
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/flakeward/flakeward/coord"
)

// past is what the answers have shown of the servers: etcd's revision never goes back, and the
// cluster's ID never changes, unless it was restored from a backup or its data was replaced.
type past struct {
	mu      sync.Mutex
	highest int64
	cluster uint64
	gone    *coord.RestoredError // final
}

// revision returns the highest revision seen. A request that is sent now is answered
// at that or a later one: all requests here are linearizable.
func (p *past) revision() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.highest
}

// restored returns what was found out, if anything.
func (p *past) restored() *coord.RestoredError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// note takes the header of an answer, and the revision before its request was sent.
// It returns what was found out by this answer or an earlier one.
func (p *past) note(before int64, header *etcdserverpb.ResponseHeader) *coord.RestoredError {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.gone != nil:
	case header.GetRevision() < before:
		p.gone = &coord.RestoredError{Why: fmt.Sprintf("it went back from revision %d to %d", before, header.GetRevision())}
	case p.cluster != 0 && header.GetClusterId() != 0 && p.cluster != header.GetClusterId():
		p.gone = &coord.RestoredError{Why: fmt.Sprintf("its cluster ID was %x and is %x", p.cluster, header.GetClusterId())}
	default:
		p.highest = max(p.highest, header.GetRevision())
		if id := header.GetClusterId(); id != 0 {
			p.cluster = id
		}
	}
	return p.gone
}
