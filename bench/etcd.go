package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

const selfEtcd = "etcd"

// startEtcd starts an etcd server in a process of its own, with its data in dir, and returns its
// address.
func startEtcd(ctx context.Context, dir string) (s *self, address string, err error) {
	if s, err = startSelf(ctx, selfEtcd, dir); err != nil {
		return nil, "", err
	}
	if err := s.hear(&address); err != nil {
		s.end()
		return nil, "", err
	}
	return s, address, nil
}

// serveEtcd is that server. It listens on loopback, on ports that the kernel chooses, and reports
// the address for clients.
func serveEtcd(ctx context.Context, args []string, report *json.Encoder) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments, which are to be a directory", len(args))
	}
	peers, err := loopback()
	if err != nil {
		return err
	}
	clients, err := loopback()
	if err != nil {
		return err
	}
	c := embed.NewConfig()
	c.Dir = args[0]
	c.ListenPeerUrls, c.AdvertisePeerUrls = peers, peers
	c.ListenClientUrls, c.AdvertiseClientUrls = clients, clients
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.LogLevel = "error"
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return err
	case <-ctx.Done():
		return nil
	}
	if err := report.Encode(clients[0].Host); err != nil {
		return err
	}
	select {
	case err := <-e.Err():
		return err
	case <-ctx.Done():
		return nil
	}
}

// loopback is an address where nothing listens.
func loopback() ([]url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return []url.URL{{Scheme: "http", Host: l.Addr().String()}}, l.Close()
}
