package main

import (
	"context"
	"encoding/json"

	"github.com/flakeward/flakeward/bench/etcdserver"
)

const selfEtcd = "etcd"

// startEtcd starts an etcd server in a process of its own, with its data in dir, and returns its
// address.
func startEtcd(ctx context.Context, dir string) (s *self, address string, err error) {
	s, err = startReporting(ctx, selfEtcd, dir, &address)
	return s, address, err
}

// serveEtcd is that server, and reports the address for clients.
func serveEtcd(ctx context.Context, dir string, report *json.Encoder) error {
	e, address, err := etcdserver.Start(ctx, dir)
	if err != nil {
		return err
	}
	defer e.Close()
	if err := report.Encode(address); err != nil {
		return err
	}
	select {
	case err := <-e.Err():
		return err
	case <-ctx.Done():
		return nil
	}
}
