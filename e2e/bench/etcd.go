package main

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"runtime/debug"

	"go.etcd.io/etcd/server/v3/embed"
)

const selfEtcd = "etcd"

// startEtcd starts an etcd server of one member with its default configuration, in a process of its
// own, with its data in dir. It returns its address for clients.
func startEtcd(ctx context.Context, dir string) (s *self, address string, err error) {
	s, err = startReporting(ctx, selfEtcd, dir, &address)
	return s, address, err
}

// serveEtcd is that server, and reports the address. It listens on loopback, on ports that the
// kernel chooses.
func serveEtcd(ctx context.Context, dir string, report *json.Encoder) (err error) {
	c := embed.NewConfig()
	c.Dir = dir
	if c.ListenPeerUrls, err = loopback(); err != nil {
		return err
	}
	if c.ListenClientUrls, err = loopback(); err != nil {
		return err
	}
	c.AdvertisePeerUrls, c.AdvertiseClientUrls = c.ListenPeerUrls, c.ListenClientUrls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.LogLevel = "fatal" // it says much at its end, and its errors are returned
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer e.Close()
	ready := e.Server.ReadyNotify()
	for {
		select {
		case <-ready:
			ready = nil
			if err := report.Encode(c.ListenClientUrls[0].Host); err != nil {
				return err
			}
		case err := <-e.Err():
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// loopback is an address that the kernel chose a moment ago.
func loopback() ([]url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return []url.URL{{Scheme: "http", Host: l.Addr().String()}}, l.Close()
}

// moduleVersion is the version of a module that this program was built with.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return unknown
}
