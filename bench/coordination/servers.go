package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/flakeward/flakeward/bench/etcdserver"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
)

// etcdServer is an etcd server in this process.
type etcdServer struct {
	server *embed.Etcd
	client *clientv3.Client
	host   string
}

func startEtcd(ctx context.Context, dir string) (server, error) {
	e, host, err := etcdserver.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &etcdServer{server: e, host: host}
	if s.client, err = clientv3.New(clientv3.Config{Endpoints: []string{host}}); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *etcdServer) address() string { return s.host }

func (s *etcdServer) dial(address string, identity coord.Identity) (coord.Coordinator, error) {
	return etcd.Dial(etcd.Servers{Endpoints: []string{address}}, etcd.Config{Identity: identity})
}

// writes is the revision: each transaction that changes something raises it by one.
func (s *etcdServer) writes(ctx context.Context) (int64, error) {
	r, err := s.client.Get(ctx, "none")
	if err != nil {
		return 0, fmt.Errorf("cannot read etcd's revision: %w", err)
	}
	return r.Header.Revision, nil
}

func (s *etcdServer) logs() string {
	return filepath.Join(s.server.Config().Dir, "member", "wal", "*.wal")
}

// settle has nothing to wait for: the end of a lease that nothing hangs on is no write.
func (s *etcdServer) settle(context.Context, int) error { return nil }

func (s *etcdServer) stop() error {
	var err error
	if s.client != nil {
		err = s.client.Close()
	}
	s.server.Close()
	return err
}

// zooKeeper is a ZooKeeper server in a process of its own.
type zooKeeper struct{ servers *zkserver.Ensemble }

func startZooKeeper(ctx context.Context, dir string) (server, error) {
	e, err := zkserver.New(dir, zkserver.Options{})
	if err != nil {
		return nil, err
	}
	if err := e.Start(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &zooKeeper{e}, nil
}

func (s *zooKeeper) address() string { return s.servers.Addresses()[0] }

func (s *zooKeeper) dial(address string, identity coord.Identity) (coord.Coordinator, error) {
	return zk.Dial(zk.Servers{Addresses: []string{address}}, zk.Config{Identity: identity})
}

// writes is the zxid's low half: each transaction raises it by one, a session's begin and end too.
func (s *zooKeeper) writes(ctx context.Context) (int64, error) {
	answer, err := s.servers.Word(ctx, 0, "srvr")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(answer, "Zxid: 0x")
	zxid, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseInt(zxid, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read ZooKeeper's zxid: %w", err)
	}
	return n & (1<<32 - 1), nil
}

func (s *zooKeeper) logs() string { return filepath.Join(s.servers.Data(0), "version-2", "log.*") }

// settle waits until the sessions that daemons have opened and given up, as happens when many start
// at once, have expired: the end of each is a write.
func (s *zooKeeper) settle(ctx context.Context, daemons int) error {
	for {
		answer, err := s.servers.Word(ctx, 0, "mntr")
		if err != nil {
			return err
		}
		_, rest, found := strings.Cut(answer, "zk_global_sessions\t")
		text, _, _ := strings.Cut(rest, "\n")
		sessions, err := strconv.Atoi(text)
		if !found || err != nil {
			return fmt.Errorf("cannot read how many sessions ZooKeeper has: %w", err)
		}
		if sessions <= daemons {
			return nil
		}
		if !pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("ZooKeeper has %d sessions for %d daemons: %w", sessions, daemons, ctx.Err())
		}
	}
}

func (s *zooKeeper) stop() error { return s.servers.Close() }
