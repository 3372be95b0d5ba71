//go:build e2e

package drills

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
)

var dialer net.Dialer

// zookeeper is ZooKeeper's part of Members.
type zookeeper struct{ m *Members }

func (z *zookeeper) url(tree string) string {
	return "zk://" + strings.Join(z.m.names, ":2181,") + ":2181" + tree
}

// srvr asks a member how it is.
func srvr(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", address+":2181")
	if err != nil {
		return "", err
	}
	defer conn.Close() // it was only asked
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}

func (z *zookeeper) leads(ctx context.Context, addresses map[string]string) (leader string, serving int) {
	var mu sync.Mutex
	var asked sync.WaitGroup
	for name, address := range addresses {
		asked.Go(func() {
			text, err := srvr(ctx, address)
			if err != nil || !strings.Contains(text, "\nMode: ") { // only who has joined a quorum has a mode
				return
			}
			mu.Lock()
			defer mu.Unlock()
			serving++
			if strings.Contains(text, "\nMode: leader") {
				leader = name
			}
		})
	}
	asked.Wait()
	if serving <= memberCount/2 {
		leader = ""
	}
	return leader, serving
}

const zkSession = 5 * time.Second

// with calls f with a session on the members.
func (z *zookeeper) with(ctx context.Context, addresses map[string]string, f func(conn *zk.Conn) error) error {
	var servers []string
	for _, a := range slices.Sorted(maps.Values(addresses)) {
		servers = append(servers, a+":2181")
	}
	if len(servers) == 0 {
		return errors.New("no member of ZooKeeper runs")
	}
	conn, _, err := zk.Connect(servers, zkSession, zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	// Its calls take no context: closing it ends them.
	result := make(chan error, 1)
	go func() { result <- f(conn) }()
	select {
	case err = <-result:
		conn.Close()
	case <-ctx.Done():
		conn.Close()
		<-result
		err = context.Cause(ctx)
	}
	return err
}

func (z *zookeeper) stores(ctx context.Context, addresses map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*sampleTimeout)
	defer cancel()
	return z.with(ctx, addresses, func(conn *zk.Conn) error {
		_, err := conn.Create(quorumKey, nil, 0, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			_, err = conn.Set(quorumKey, nil, -1)
		}
		return err
	})
}

func (z *zookeeper) history(_ context.Context, tree string) ([]history.Version, error) {
	var dirs []string
	for _, name := range z.m.names {
		dirs = append(dirs, filepath.Join(z.m.dir, name))
	}
	return history.ZooKeeper(dirs, tree)
}

func (z *zookeeper) claims(ctx context.Context, tree string) (names []string, err error) {
	addresses, err := z.m.addresses(ctx)
	if err != nil {
		return nil, err
	}
	err = z.with(ctx, addresses, func(conn *zk.Conn) error {
		path := tree + "/claims"
		// Without it, a member that lags may show what is gone.
		if err := zkserver.CatchUp(conn); err != nil {
			return err
		}
		names, _, err = conn.Children(path)
		return err
	})
	return names, err
}

func (z *zookeeper) record(ctx context.Context, tree string) (record []byte, err error) {
	addresses, err := z.m.addresses(ctx)
	if err != nil {
		return nil, err
	}
	err = z.with(ctx, addresses, func(conn *zk.Conn) error {
		if err := zkserver.CatchUp(conn); err != nil {
			return err
		}
		record, _, err = conn.Get(tree + "/layout")
		return err
	})
	return record, err
}
