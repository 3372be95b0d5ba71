//go:build linux

// Package csi is the CSI node driver: it gives each pod that asks for it a directory with a socket
// of the pod's own, as an inline ephemeral volume.
//
// The driver makes a directory that the daemon watches (package podsocket), waits until the daemon
// listens in it, and mounts it where kubelet wants it (package bind). It keeps nothing in memory
// that a restart could lose. It tells kubelet of itself, by the socket on which kubelet then calls.
package csi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/flakeward/flakeward/csi/bind"
	"github.com/flakeward/flakeward/csi/podsocket"
)

// Name is the driver's, in pods' volumes and in the CSIDriver object.
const Name = "csi.flakeward.dev"

const (
	// daemonTimeout is how long a pod's volume waits for the daemon before kubelet is told to try
	// again.
	daemonTimeout = 5 * time.Second
	// endTimeout is how long requests in progress have when the driver ends.
	endTimeout = 5 * time.Second
	// orphanAge is how long a directory that no pod has any more stays: another driver, the one that
	// this one replaces, may be about to use it.
	orphanAge = 10 * time.Minute
)

// Config is what a driver is told.
type Config struct {
	Registration string // the socket's path in kubelet's plugins_registry; empty: kubelet is not told
	Endpoint     string // another socket that serves the same, a path or unix://path; empty: none
	PodSockets   string // the directory that the daemon watches (its --pod-sockets)
	Node         string // the node's name, 1 to 256 bytes
	Version      string
	Log          hclog.Logger
}

// Validate returns what Run would refuse before it touches anything.
func (c *Config) Validate() error {
	switch {
	case c.Registration == "" && c.Endpoint == "":
		return errors.New("neither --registration nor --endpoint is given: nobody could call the driver")
	case c.Node == "" || len(c.Node) > longestNode:
		return fmt.Errorf("--node has %d bytes: give the node's name, 1 to %d bytes", len(c.Node), longestNode)
	case c.PodSockets == "":
		return errors.New("--pod-sockets is missing: give the directory that the daemon has as --pod-sockets")
	}
	for _, path := range []string{c.Registration, c.Endpoint} {
		if _, err := socketPath(path); path != "" && err != nil {
			return err
		}
	}
	return nil
}

// Run serves until ctx ends, or until kubelet refuses the driver. Mounts stay as they are.
func Run(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	dir, err := podsocket.Open(c.PodSockets)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	n := &node{name: c.Node, dir: dir, log: c.Log, ending: ctx, timeout: daemonTimeout}
	n.sweep(time.Now().Add(-orphanAge))

	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, identity{version: c.Version})
	csi.RegisterNodeServer(server, n)
	registration.RegisterRegistrationServer(server, registrar{log: c.Log, refused: end})

	var listeners []*listener
	defer func() {
		for _, l := range listeners {
			l.remove()
		}
	}()
	// Kubelet calls as soon as it sees its socket, so that one is last.
	for _, path := range []string{c.Endpoint, c.Registration} {
		if path == "" {
			continue
		}
		l, err := listen(path)
		if err != nil {
			return err
		}
		listeners = append(listeners, l)
	}
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() {
			err := server.Serve(l)
			if errors.Is(err, grpc.ErrServerStopped) { // it ended before it began
				err = nil
			}
			served <- err
		}()
	}
	c.Log.Info("the CSI driver serves", "registration", c.Registration, "endpoint", c.Endpoint, "pod_sockets", c.PodSockets, "node", c.Node)
	ended := 0
	select {
	case <-ctx.Done():
		err = nil
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			err = cause
		}
	case err = <-served:
		ended++
	}
	end(nil) // requests that wait for the daemon wait no longer
	late := time.AfterFunc(endTimeout, server.Stop)
	server.GracefulStop()
	late.Stop()
	for ; ended < len(listeners); ended++ {
		err = errors.Join(err, <-served)
	}
	c.Log.Info("the CSI driver ends; mounts stay")
	return err
}

// sweep removes what pods left behind of which kubelet will not speak any more.
func (n *node) sweep(before time.Time) {
	all, err := bind.All()
	if err == nil {
		var removed []string
		removed, err = n.dir.Sweep(before, func(id string) bool { return shown(all, id) })
		if len(removed) > 0 {
			n.log.Info("removed directories of pods that are gone", "directories", removed)
		}
	}
	if err != nil {
		n.log.Warn("directories of pods that are gone may be left", "error", err)
	}
}
