// Package embedded runs an etcd server of one member inside this process, for one
// host, with nothing listening on the network: its client calls it directly, and
// operators' commands come in on a Unix socket in its directory. It is put together from
// etcdserver: with etcd's package embed a start takes longer, and more memory.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3compactor"
	"go.etcd.io/etcd/server/v3/features"
	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/flakeward/flakeward/coord/etcd/zaplog"
)

// DefaultQuota is the space quota in bytes when none is configured. A host's tree
// takes a few kilobytes; the rest is history until it is compacted. The database is
// mapped into memory whole, in powers of two and with a tenth to spare, and counts
// as resident: this is the most that fits 4 MiB.
const DefaultQuota = 7 << 19

// Config is what Start needs.
type Config struct {
	// Dir is the server's own directory; it is made, with mode 0700.
	Dir string
	// Quota is the space quota in bytes; DefaultQuota if 0.
	Quota int64
	// Log takes the server's log; nil for none.
	Log hclog.Logger
}

// Server is a running server. Make it with Start and end it with Close.
type Server struct {
	dir    string
	log    hclog.Logger
	lock   *os.File
	server *etcdserver.EtcdServer
	client *clientv3.Client
	asked  *operators // nil if there is no socket

	repairing chan struct{} // holds a token while the space is won back
	failed    chan struct{} // closed when the server ended by itself
	failOnce  sync.Once
	failure   error // valid once failed is closed
	closeOnce sync.Once
	closeErr  error
}

// walSegment is the size in bytes that each segment of the log is allocated at
// once; two exist. etcd's own default suits a cluster under load.
const walSegment = 4 << 20

// The size is etcd's for the whole process, and read by any server that runs.
func init() { wal.SegmentSizeBytes = walSegment }

// Start starts the server and returns when it serves, or with an error when ctx
// ends before. A directory that another process uses is an error at once, and so is
// one whose server has failed in this process: ErrFailed, with the first reason.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Quota == 0 {
		c.Quota = DefaultQuota
	}
	lock, err := lockDir(c.Dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(discardUnborn(c.Dir), finishPurge(c.Dir)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &Server{dir: c.Dir, log: c.Log, lock: lock, repairing: make(chan struct{}, 1), failed: make(chan struct{})}
	if err := s.boot(c); err != nil {
		return nil, err
	}
	s.client = v3client.New(s.server)
	select {
	case <-s.server.ReadyNotify():
		if err = errors.Join(syncDatabase(c.Dir), markBorn(c.Dir)); err == nil {
			if err := reserve(c.Dir, c.Quota); err != nil {
				c.Log.Warn("no disk space is set aside for the embedded etcd: it stops when the disk is full", "dir", c.Dir, "error", err)
			}
			if s.asked, err = serveOperators(c.Dir, s.server); err != nil {
				c.Log.Warn("operators' commands cannot ask the embedded etcd while this daemon runs", "dir", c.Dir, "error", err)
			}
			return s, nil
		}
	case <-s.failed:
		err = s.failure
	case <-ctx.Done():
		err = fmt.Errorf("the embedded etcd in %s did not become ready: %w", c.Dir, ctx.Err())
	}
	return nil, errors.Join(err, s.Close())
}

// bornName is the file that says that the server in the directory has been ready.
const bornName = "born"

// discardUnborn removes the data of a server that was ended before it was ready for
// the first time. etcd may have written its log and not yet that it is a cluster
// of one, and then waits for a leader without end. Nothing was stored by anybody.
func discardUnborn(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, bornName)); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "member")); err != nil {
		return fmt.Errorf("what an unfinished first start of the embedded etcd left cannot be removed: %w", err)
	}
	return nil
}

// markBorn makes the file durable.
func markBorn(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, bornName)); err == nil {
		return nil
	}
	f, err := os.Create(filepath.Join(dir, bornName))
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("the directory of the embedded etcd cannot be written: %w", err)
	}
	return nil
}

// syncDatabase makes the database's name durable. etcd defragments, also as it starts, by a rename
// that it does not make so. If a power cut undid that, the old database would come back, which is
// older than the newest snapshot of the log, and etcd would not start on it.
func syncDatabase(dir string) error {
	return syncDir(filepath.Join(dir, "member", "snap"))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// boot makes the server and starts it. Some damage to its data etcd reports only by
// a fatal message or a panic in a goroutine of its own, and then waits for that
// without end: what was begun is left behind, and the lock with it. The error is then
// ErrFailed.
func (s *Server) boot(c Config) error {
	configuration, err := s.configuration(c)
	if err != nil {
		return errors.Join(err, s.lock.Close())
	}
	made := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				s.fail(fmt.Sprintf("its data is damaged: %v", r))
			}
		}()
		server, err := etcdserver.NewServer(configuration)
		s.server = server
		made <- err
	}()
	select {
	case err = <-made:
	case <-s.failed:
		return s.failure
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the embedded etcd in %s does not start: %w", c.Dir, err), s.lock.Close())
	}
	s.server.Start()
	return nil
}

func (s *Server) configuration(c Config) (config.ServerConfig, error) {
	const name = "flakeward"
	// A member must have an address; nothing listens there.
	address, err := types.NewURLs([]string{"http://127.0.0.1:1"})
	if err != nil {
		return config.ServerConfig{}, err
	}
	log := zaplog.New(c.Log, s.fail)
	return config.ServerConfig{
		Name:                name,
		DataDir:             c.Dir,
		ClientURLs:          types.URLs([]url.URL(address)),
		PeerURLs:            types.URLs([]url.URL(address)),
		InitialPeerURLsMap:  types.URLsMap{name: address},
		InitialClusterToken: name,
		NewCluster:          true,

		// With one member an election is won as soon as it begins, after two
		// or three ticks.
		TickMs:                     20,
		ElectionTicks:              2,
		InitialElectionTickAdvance: true,
		PreVote:                    true,

		SnapshotCount:          1000,
		SnapshotCatchUpEntries: 100,
		MaxSnapFiles:           1,
		MaxWALFiles:            1,

		QuotaBackendBytes:                 c.Quota,
		BackendFreelistType:               bbolt.FreelistMapType,
		BootstrapDefragThresholdMegabytes: 1,
		AutoCompactionMode:                v3compactor.ModeRevision,
		AutoCompactionRetention:           1000, // revisions
		MaxTxnOps:                         128,
		MaxRequestBytes:                   1 << 20,
		MaxConcurrentStreams:              1 << 10,
		StrictReconfigCheck:               true,
		AuthToken:                         "simple",
		BcryptCost:                        10,
		TokenTTL:                          300,
		MaxLearners:                       1,
		Metrics:                           "basic",
		WarningApplyDuration:              100 * time.Millisecond, // 0 would find each one slow
		WarningUnaryRequestDuration:       300 * time.Millisecond,
		ServerFeatureGate:                 features.NewDefaultServerFeatureGate(name, log),
		Logger:                            log,
	}, nil
}

// fail notes that the server ended by itself.
func (s *Server) fail(message string) {
	s.failOnce.Do(func() {
		s.failure = fmt.Errorf("the embedded etcd in %s has stopped: %s; free or repair the disk and restart the daemon: %w", s.dir, message, ErrFailed)
		abandon(s.lock, s.failure)
		close(s.failed)
	})
	s.log.Error("the embedded etcd has stopped; what was granted stays valid, and nothing new is granted until the daemon is restarted", "dir", s.dir, "reason", message)
}

// Client returns the client of the server. It is valid until Close.
func (s *Server) Client() *clientv3.Client { return s.client }

// Failed returns a channel that is closed when the server ended by itself, for
// example because its disk is full.
func (s *Server) Failed() <-chan struct{} { return s.failed }

// MakeRoom wins space back when the quota is used up: it compacts the history,
// defragments and disarms the alarm, all of which etcd leaves to its operator. It
// does nothing if there is no alarm.
func (s *Server) MakeRoom(ctx context.Context) error {
	select {
	case s.repairing <- struct{}{}:
		defer func() { <-s.repairing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	alarms, err := s.client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("read the alarms: %w", err)
	}
	if !hasNoSpace(alarms.Alarms) {
		return nil
	}
	now, err := s.client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("read the revision: %w", err)
	}
	_, err = s.client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact: %w", err)
	}
	if err := s.server.Defragment(); err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	if err := syncDatabase(s.dir); err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	if _, err := s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		return fmt.Errorf("disarm the alarm: %w", err)
	}
	s.log.Warn("the space quota of the embedded etcd was used up; compacted, defragmented and disarmed the alarm", "dir", s.dir)
	return nil
}

func hasNoSpace(alarms []*etcdserverpb.AlarmMember) bool {
	for _, a := range alarms {
		if a.GetAlarm() == etcdserverpb.AlarmType_NOSPACE {
			return true
		}
	}
	return false
}

// Close stops the server and waits for it, except for one that failed: parts of
// that wait for its disk without end and are left behind.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.asked.stop()
		err := s.client.Close()
		if errors.Is(err, context.Canceled) { // what closing a client answers
			err = nil
		}
		stopped := make(chan struct{})
		go func() { defer close(stopped); s.server.Stop() }()
		select {
		case <-stopped:
		case <-s.failed:
		}
		select {
		case <-s.failed: // the lock stays: files may still be open
		default:
			err = errors.Join(err, s.lock.Close())
		}
		s.closeErr = err
	})
	return s.closeErr
}
