package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/internal/process"
)

// etcdProgram is the newest etcd of those that the tests have, where `scripts/need etcd` puts it.
func etcdProgram() (string, error) {
	dir, err := os.Getwd() // below the root of the source
	for err == nil {
		program := filepath.Join(dir, ".bin", "etcd", "3.7", "etcd")
		if _, missing := os.Stat(program); missing == nil {
			return program, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run `scripts/need etcd`")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// startEtcd starts an etcd server of one member with its defaults and its data in dir, and returns its
// address for clients once it serves. It listens on loopback, on ports that the kernel chose.
func startEtcd(ctx context.Context, program, dir string) (s *process.Process, address string, err error) {
	address, err = loopback()
	if err != nil {
		return nil, "", err
	}
	peers, err := loopback()
	if err != nil {
		return nil, "", err
	}
	s, err = process.Start(ctx, process.Program{Command: []string{
		program, "--data-dir", dir, "--log-level", "error",
		"--listen-client-urls", "http://" + address, "--advertise-client-urls", "http://" + address,
		"--listen-peer-urls", "http://" + peers, "--initial-advertise-peer-urls", "http://" + peers, "--initial-cluster", "default=http://" + peers,
	}})
	if err != nil {
		return nil, "", err
	}
	for {
		reply, err := http.Get("http://" + address + "/health")
		if err == nil {
			_ = reply.Body.Close() // its status is what is looked at
		}
		if err == nil && reply.StatusCode == http.StatusOK {
			return s, address, nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.Ended(): // as it does when ctx ends
			return nil, "", s.Gone()
		}
	}
}

// loopback is an address that the kernel chose a moment ago.
func loopback() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
