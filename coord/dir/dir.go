// Package dir keeps the tree of a cluster in a directory of one host: plain files, flock, rename
// and fsync. What the tree is for and who may write what is package claims's.
//
// The directory itself is the lock. Whoever has it reads and writes the files; each write is a file
// made anew, which is synced, renamed, and counts when the directory is synced as well. A claim is
// a file that its maker keeps locked, so it lives exactly as long as the process, and is not
// synced. Besides the keys of package claims there are
//
//	cluster             the cluster record, and the inode of the directory; made last
//	seq                 how many sequence numbers were drawn, a hint
//	new                 the file that is being written
//	spare-<incarnation> blocks for one more write where the disk is full
package dir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/internal/mutex"
)

// Config is what a Coordinator needs.
type Config struct {
	// Path is the directory. Join makes it unless it is there; what it lies in has to be there.
	Path string
	// Identity names this daemon.
	Identity coord.Identity
	// Adopt takes a directory that was copied or restored for this cluster's. It is for an
	// operator's command, which gives the cluster another UUID and a floor.
	Adopt bool
	// FUSE lets the directory lie on FUSE.
	FUSE bool
	// Clock times retries, and tells people since when a claim is held; clockguard.System if nil.
	Clock clockguard.Clock
	// Log takes what operators should know; nil for none.
	Log hclog.Logger

	// inOrder assigns worker IDs from 0 on: the kit knows which one is next.
	inOrder bool
}

// Coordinator is a claims.Coordinator on a directory. Make it with New.
type Coordinator struct {
	*claims.Coordinator
	store *store
	made  bool // there was a cluster: it is not made anew
}

// New returns a coordinator on the directory. Nothing is opened yet. It returns an error for a
// configuration that is impossible.
func New(config Config) (*Coordinator, error) {
	if config.Log == nil {
		config.Log = hclog.NewNullLogger()
	}
	path, err := filepath.Abs(config.Path)
	if err != nil || config.Path == "" {
		return nil, fmt.Errorf("dir: the path %q of the coordinator's directory is not usable: %w", config.Path, err)
	}
	config.Path = path
	s := &store{config: config, mutex: mutex.New(), sync: syncFile}
	s.life, s.end = context.WithCancel(context.Background())
	// Two hosts whose daemons were given no coordinator seldom begin at the same worker ID.
	core, err := claims.New(s, claims.Config{Identity: config.Identity, StartOffset: !config.inOrder, Clock: config.Clock, Log: config.Log})
	if err != nil {
		return nil, err
	}
	return &Coordinator{Coordinator: core, store: s}, nil
}

// Join implements coord.Coordinator. Whoever comes first makes the cluster, which begins now: what
// is issued in it is issued later.
func (c *Coordinator) Join(ctx context.Context, want coord.Layout) (coord.Cluster, error) {
	if !c.made {
		_, err := c.Create(ctx, coord.NewCluster{Text: want.Text, Workers: want.Workers, Window: want.Window, Floor: want.Now})
		if err != nil {
			return coord.Cluster{}, err
		}
		c.made = true
	}
	return c.Coordinator.Join(ctx, want)
}

// Stays returns an error if another directory is at the path than the one that was opened, or none.
// It writes nothing, and waits for nobody's lock.
func (c *Coordinator) Stays() error {
	opened := c.store.opened.Load()
	if opened == nil {
		return nil
	}
	err := (&directory{path: c.store.config.Path, info: *opened}).same()
	if errors.As(err, new(*elsewhereError)) {
		return fmt.Errorf("%w: %w", coord.ErrOtherCluster, err)
	}
	return nil // what cannot be looked at may be there
}

// store implements claims.Store.
type store struct {
	config Config
	sync   func(*os.File) error // of a file or a directory; tests change it
	// through is what every request passes, so that tests can lose it or its answer; nil: nothing.
	through func(send func() error) error

	life    context.Context // ends with Close
	end     context.CancelFunc
	gate    sync.Mutex
	closed  bool           // guarded by gate: no request begins any more
	running sync.WaitGroup // requests

	opened atomic.Pointer[os.FileInfo] // the directory of the last session; nil: there was none

	mutex  mutex.Mutex // one goroutine at a time has the directory's lock
	dir    *directory  // nil: no session
	claims map[string]*os.File
	ended  map[string]bool // claims of sessions that ended because the directory could not be synced
}
