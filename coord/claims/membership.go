package claims

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
)

// membership is in which cluster a coordinator makes its requests, and what has ended that.
type membership struct {
	store       Store
	startOffset bool
	log         hclog.Logger

	mu      sync.Mutex
	joined  *cluster    // nil before Join or Inspect
	told    coord.Raise // the one that was learned of last
	closed  bool
	other   *coord.ClusterError
	gone    *coord.RestoredError
	renamed bool // the cluster is a copy: the hosts' preferences are the original's
}

// clusterOf returns the cluster of a cluster record.
func (m *membership) clusterOf(l layout, entry Entry) *cluster {
	j := &cluster{entry: entry, record: l, text: l.Layout, uuid: l.UUID, floor: l.Floor, epoch: l.Epoch, allowed: l.Range}
	if m.startOffset {
		j.start = offsetOf(j.uuid)
	}
	return j
}

// readLayout decodes the cluster record of a cluster that is served here. One that is not is a
// *coord.NotServedError.
func (m *membership) readLayout(stored Entry) (layout, error) {
	l, err := m.decodeLayout(stored)
	if err != nil {
		return layout{}, err
	}
	if err := l.served(); err != nil {
		return layout{}, fmt.Errorf("%s: %w", m.store.Name(), err)
	}
	return l, nil
}

// decodeLayout decodes the cluster record.
func (m *membership) decodeLayout(stored Entry) (layout, error) {
	l, err := decodeLayout(stored.Value)
	if err != nil {
		if errors.Is(err, errEarlier) {
			return layout{}, fmt.Errorf("%s: %s: %w", m.store.Name(), m.store.Path(ClusterKey), err)
		}
		return layout{}, fmt.Errorf("%s: the cluster record %s is damaged (%w); restore it from a backup, or use another prefix, or another directory", m.store.Name(), m.store.Path(ClusterKey), err)
	}
	return l, nil
}

// ready returns the cluster that was joined, or why the coordinator cannot be used.
func (m *membership) ready() (*cluster, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, fmt.Errorf("%s: %w", m.store.Name(), coord.ErrClosed)
	case m.other != nil:
		return nil, fmt.Errorf("%s: %w", m.store.Name(), m.other)
	case m.gone != nil:
		return nil, fmt.Errorf("%s: %w", m.store.Name(), m.gone)
	case m.joined == nil:
		return nil, fmt.Errorf("%s: %w", m.store.Name(), coord.ErrNotJoined)
	}
	return m.joined, nil
}

// known returns the cluster that was joined; nil if none was.
func (m *membership) known() *cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.joined
}

// latest returns the cluster that is joined, and the raise that was learned of last.
func (m *membership) latest() (*cluster, coord.Raise) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.joined, m.told
}

// enter makes j the cluster that was joined, unless another one was before; was is
// what known returned before j was read.
func (m *membership) enter(was, j *cluster) error {
	m.mu.Lock()
	now := m.joined
	switch {
	case now == nil:
		m.adopt(j)
	case now.uuid != j.uuid:
		m.mu.Unlock()
		return m.replaced(j.uuid)
	case now != was && (now.daemon || !j.daemon):
		// An answer that took long must not bring back what has changed since.
	default:
		if now.daemon { // a daemon that visits stays one
			j.daemon = true
		}
		m.adopt(j)
	}
	m.mu.Unlock()
	return nil
}

// adopt makes j the cluster that is joined. The caller holds mu.
func (m *membership) adopt(j *cluster) { m.joined, m.told = j, j.raise() }

// served notes that the servers have done a request of the cluster j, and so, that its raise is the
// last one.
func (m *membership) served(j *cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined == j {
		m.told = j.raise()
	}
}

// learn notes the raise of a record that was found when latest returned was and before. What is
// found binds no call: after a restore all of them fail.
func (m *membership) learn(was *cluster, before, found coord.Raise) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// An answer that took long tells of no raise that another has followed.
	if m.joined == was && m.told == before {
		m.told = found
	}
}

// rename leaves the cluster that was joined: it has another UUID now.
func (m *membership) rename() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined, m.other, m.renamed = nil, nil, true
}

// isRenamed reports whether rename was called.
func (m *membership) isRenamed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.renamed
}

// shut makes every later call answer ErrClosed.
func (m *membership) shut() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
}

// wentBack notes that a record is older than it was, which is final: what was
// granted since is unknown to the coordinator, and may be granted again. It is seen
// also where the servers do not tell, because others have written meanwhile.
func (m *membership) wentBack(worker int, from, to int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone == nil {
		m.gone = &coord.RestoredError{Why: fmt.Sprintf("the record of worker ID %d went back from version %d to %d", worker, from, to)}
	}
	return fmt.Errorf("%s: %w", m.store.Name(), m.gone)
}

// replaced notes that the tree is another cluster's, which is final.
func (m *membership) replaced(uuid string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.other == nil {
		m.other = &coord.ClusterError{Ours: m.joined.uuid, Cluster: uuid}
	}
	return fmt.Errorf("%s: %w", m.store.Name(), m.other)
}

// inCluster makes a request in the cluster that was joined and in no other. If the
// cluster record has changed and is still that cluster's, the request is made again:
// it did nothing. Each time it gets what the cluster record says.
func (m *membership) inCluster(ctx context.Context, request func(j *cluster) error) error {
	for {
		_, told := m.latest()
		j, err := m.ready()
		if err != nil {
			return err
		}
		err = request(j)
		var moved *MovedError
		if err == nil {
			m.served(j)
		}
		if !errors.As(err, &moved) {
			return err
		}
		if err := m.judge(j, told, moved); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: the cluster record keeps changing: %w", m.store.Name(), ctx.Err())
		}
	}
}

// judge decides what a cluster record means that is not the one of j, and takes it
// over if it is the same cluster's. Told is the raise that was known before the request.
func (m *membership) judge(j *cluster, told coord.Raise, moved *MovedError) error {
	var now layout
	if moved.Found.Version != 0 {
		var err error
		if now, err = decodeLayout(moved.Found.Value); err != nil {
			m.log.Error("the cluster record is damaged", "path", m.store.Path(ClusterKey), "error", err)
		}
	}
	switch {
	case now.UUID != j.uuid:
		return m.replaced(now.UUID)
	case moved.Restored != nil:
		return fmt.Errorf("%s: %w", m.store.Name(), moved.Restored)
	case now.served() != nil:
		return fmt.Errorf("%s: %w", m.store.Name(), now.served())
	case now.Floor < j.floor: // no raise lowers it. It is not final: a server that lags tells an old one, too
		return fmt.Errorf("%s: %w", m.store.Name(), &coord.RestoredError{Why: fmt.Sprintf("the floor went back from %d to %d", j.floor, now.Floor)})
	case now.Layout != j.text:
		return fmt.Errorf("%s: %w", m.store.Name(), &coord.LayoutError{Ours: j.text, Cluster: now.Layout})
	}
	next := m.clusterOf(now, moved.Found)
	next.daemon = j.daemon
	if next.epoch != j.epoch {
		m.log.Warn("all marks were raised: claims that were opened before are lost", "floor", next.floor, "before", j.floor)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// An answer that took long must not bring back what has changed since.
	if m.joined == j && m.told == told {
		m.adopt(next)
	}
	return nil
}
