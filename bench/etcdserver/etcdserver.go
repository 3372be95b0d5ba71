// Package etcdserver runs an etcd server of one member with its default configuration.
package etcdserver

import (
	"context"
	"net"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

// Start starts a server in this process, with its data in dir, and returns it with its address for
// clients. It listens on loopback, on ports that the kernel chooses.
func Start(ctx context.Context, dir string) (e *embed.Etcd, address string, err error) {
	c := embed.NewConfig()
	c.Dir = dir
	if c.ListenPeerUrls, err = loopback(); err != nil {
		return nil, "", err
	}
	if c.ListenClientUrls, err = loopback(); err != nil {
		return nil, "", err
	}
	c.AdvertisePeerUrls, c.AdvertiseClientUrls = c.ListenPeerUrls, c.ListenClientUrls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.LogLevel = "fatal" // it says much at its end, and its errors are returned
	if e, err = embed.StartEtcd(c); err != nil {
		return nil, "", err
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, c.ListenClientUrls[0].Host, nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.Close()
	return nil, "", err
}

// loopback is an address that the kernel chose a moment ago.
func loopback() ([]url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return []url.URL{{Scheme: "http", Host: l.Addr().String()}}, l.Close()
}
