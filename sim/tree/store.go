package tree

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// Carrier brings one request of a store to the servers and its answer back.
type Carrier interface {
	// Carry has do take place on the tree, once, several times or not at all, and returns nil once
	// it has called what one of those returned: that is the answer. After an error it may take
	// place yet. The tree may be an older state for a request that is stale at worst, which do must
	// not change.
	Carry(ctx context.Context, what string, stale bool, do func(t *Tree) (answer func())) error
}

// Store implements claims.Store for one start of a daemon.
type Store struct {
	kind        Kind
	incarnation string
	carrier     Carrier
	// showsRestores is whether the revision shows that the servers went back to an earlier state.
	showsRestores bool

	mu      sync.Mutex // guards what follows; never held while a request is carried
	session int64      // 0: none
	closed  bool
	highest int64 // the highest revision seen
	gone    *coord.RestoredError
}

// NewStore returns a store of an incarnation. If showsRestores, it notices that the servers went
// back to an earlier state.
func NewStore(kind Kind, incarnation string, showsRestores bool, carrier Carrier) *Store {
	return &Store{kind: kind, incarnation: incarnation, showsRestores: showsRestores, carrier: carrier}
}

// Name implements claims.Store.
func (s *Store) Name() string {
	if s.kind == Etcd {
		return "simulated etcd"
	}
	return "simulated ZooKeeper"
}

// Path implements claims.Store.
func (s *Store) Path(key string) string { return "/" + key }

// Session is the session that claims are made under; 0 if there is none yet.
func (s *Store) Session() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

func (s *Store) setSession(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = id
}

// seen is what the answers so far have shown, or that the store is closed.
func (s *Store) seen() (highest int64, gone *coord.RestoredError, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		err = fmt.Errorf("%s: %w", s.Name(), coord.ErrClosed)
	}
	return s.highest, s.gone, err
}

// note takes the revision of an answer to a request that was sent when the highest was before.
func (s *Store) note(before, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone != nil:
	case revision < before && s.showsRestores:
		s.gone = &coord.RestoredError{Why: fmt.Sprintf("it went back from revision %d to %d", before, revision)}
	default:
		s.highest = max(s.highest, revision)
	}
}

// old reports whether a request may be answered with an older state: a plain read is of a ZooKeeper
// leader that was paused, and knows of no other yet.
func (s *Store) old(what string) bool {
	return s.kind == ZooKeeper && (what == looking || what == listing || what == listingRecords || what == reading[claims.HistoryKey] || what == reading[claims.HostsKey])
}

// The plain reads.
const (
	looking        = "look for the layout"
	listing        = "list the claims"
	listingRecords = "list the records"
)

// reading are the reads of one key, by its folder.
var reading = map[string]string{claims.RecordsKey: "read a record", claims.HistoryKey: "read a history", claims.HostsKey: "read the host's worker ID"}

// carry makes one request. Its do returns what is to be done with the answer.
func (s *Store) carry(ctx context.Context, what string, do func(t *Tree) func()) error {
	stale := s.old(what)
	before, _, err := s.seen()
	if err != nil {
		return err
	}
	err = s.carrier.Carry(ctx, what, stale, func(t *Tree) func() {
		answer := do(t)
		revision := t.revision
		return func() {
			if !stale || revision >= before { // one server that is behind is not all of them going back
				s.note(before, revision)
			}
			answer()
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.Name(), what, err)
	}
	return nil
}

// plain is carry for requests that are not fenced.
func (s *Store) plain(ctx context.Context, what string, do func(t *Tree) func()) error {
	err := s.carry(ctx, what, do)
	if _, gone, _ := s.seen(); err == nil && gone != nil {
		err = fmt.Errorf("%s: %s: %w", s.Name(), what, gone)
	}
	return err
}

// fenced is carry in the tree of the cluster that has the cluster record.
func (s *Store) fenced(ctx context.Context, what string, layout claims.Entry, do func(t *Tree) func()) error {
	var moved *claims.MovedError
	_, known, _ := s.seen() // if it is gone nothing more is written, but it may yet turn out to be another cluster
	err := s.carry(ctx, what, func(t *Tree) func() {
		if !t.in(layout) {
			found := t.layout
			return func() { moved = &claims.MovedError{Found: found} }
		}
		if known != nil {
			return func() {}
		}
		return do(t)
	})
	_, gone, _ := s.seen()
	switch {
	case err != nil:
		return err
	case moved != nil:
		moved.Restored = gone
		return moved
	case gone != nil:
		return fmt.Errorf("%s: %s: %w", s.Name(), what, gone)
	}
	return nil
}

// Look implements claims.Store.
func (s *Store) Look(ctx context.Context) (found claims.Entry, err error) {
	err = s.plain(ctx, looking, func(t *Tree) func() {
		e := t.layout
		return func() { found = e }
	})
	return found, err
}

// LookAnew implements claims.Store.
func (s *Store) LookAnew(ctx context.Context) (found claims.Entry, err error) {
	err = s.carry(ctx, looking, func(t *Tree) func() {
		e := t.layout
		return func() { found = e }
	})
	return found, err
}

// Make implements claims.Store.
func (s *Store) Make(ctx context.Context, layout []byte) (stored claims.Entry, err error) {
	err = s.plain(ctx, "make the cluster", func(t *Tree) func() {
		e := t.join(layout)
		return func() { stored = e }
	})
	return stored, err
}

// Replace implements claims.Store.
func (s *Store) Replace(ctx context.Context, layout claims.Entry, value []byte) (stored claims.Entry, err error) {
	err = s.fenced(ctx, "replace the layout", layout, func(t *Tree) func() {
		t.layout = claims.Entry{Value: value, Version: t.next(t.layout)}
		e := t.layout
		return func() { stored = e }
	})
	return stored, err
}

// Number implements claims.Store.
func (s *Store) Number(ctx context.Context, layout claims.Entry) (drawn uint64, err error) {
	err = s.fenced(ctx, "take a number", layout, func(t *Tree) func() {
		number := t.nextNumber()
		return func() { drawn = number }
	})
	return drawn, err
}

// Create implements claims.Store.
func (s *Store) Create(ctx context.Context, layout claims.Entry, n claims.Node) (claims.Created, error) {
	for {
		if err := s.open(ctx); err != nil {
			return claims.Created{}, err
		}
		made, there, err := s.put(ctx, layout, n)
		switch {
		case err != nil:
			return claims.Created{}, err
		case !there:
			s.setSession(0) // it has ended
		case s.kind == Etcd:
			return made, nil
		default:
			return s.depends(ctx, made.Node)
		}
	}
}

// open opens a session unless there is one.
func (s *Store) open(ctx context.Context) error {
	if s.Session() != 0 {
		return nil
	}
	return s.plain(ctx, "open a session", func(t *Tree) func() {
		id := t.open()
		return func() { s.setSession(id) }
	})
}

// put makes the node; there is false if the session has ended.
func (s *Store) put(ctx context.Context, layout claims.Entry, n claims.Node) (made claims.Created, there bool, err error) {
	session := s.Session()
	err = s.fenced(ctx, "create a claim", layout, func(t *Tree) func() {
		n, ok := t.add(session, n)
		created := t.depends(n)
		return func() { made, there = created, ok }
	})
	return made, there, err
}

// depends reads what an opening of the node's worker ID depends on.
func (s *Store) depends(ctx context.Context, n claims.Node) (made claims.Created, err error) {
	there := false
	err = s.plain(ctx, "read what was claimed", func(t *Tree) func() {
		ok := t.has(n)
		created := t.depends(n)
		return func() { made, there = created, ok }
	})
	if err == nil && !there {
		err = fmt.Errorf("%s: the claim %s: %w", s.Name(), n.Name, claims.ErrGone)
	}
	return made, err
}

// Write implements claims.Store.
func (s *Store) Write(ctx context.Context, layout claims.Entry, w claims.Write) (done claims.Written, err error) {
	err = s.fenced(ctx, w.Doing, layout, func(t *Tree) func() {
		d := t.write(w)
		return func() { done = d }
	})
	return done, err
}

// Delete implements claims.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	return s.plain(ctx, "delete a claim", func(t *Tree) func() {
		t.delete(name)
		return func() {}
	})
}

// Close implements claims.Store.
func (s *Store) Close() error {
	if _, _, err := s.seen(); err != nil {
		return nil
	}
	var err error
	if session := s.Session(); session != 0 {
		err = s.carry(context.Background(), "end the session", func(t *Tree) func() {
			t.End(session)
			return func() {}
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return err
}

func decimal(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }
