//go:build linux

// Command flakeward-csi is the CSI node driver: it shows the directory of the daemon's socket to
// each pod that asks for it, as an inline ephemeral volume.
//
// A volume is a bind mount, read-only, of that directory. The directory and not the socket is
// mounted, so that pods find the socket of a daemon that started anew. The driver keeps nothing:
// the mount table has all. It registers itself with kubelet, which calls it on the same socket.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// driverName is the driver's name in pods' volumes and in the CSIDriver object.
const driverName = "csi.flakeward.dev"

// endTimeout is how long requests in progress have when the driver ends.
const endTimeout = 5 * time.Second

// version is the release; the linker sets it.
var version = "unknown"

// config is what the driver is told.
type config struct {
	registration string // the driver's socket in kubelet's plugins_registry
	socket       string // the daemon's socket
	node         string // the node's name
}

func main() {
	var c config
	flag.StringVar(&c.registration, "registration", "", "the `socket` to make in kubelet's plugins_registry; kubelet finds the driver there and calls it there")
	flag.StringVar(&c.socket, "socket", "/run/flakeward/flakeward.sock", "the daemon's `socket`; pods get its directory, read-only")
	flag.StringVar(&c.node, "node", "", "the `name` of this node (spec.nodeName)")
	shows := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *shows {
		fmt.Println(version)
		return
	}
	if err := c.validate(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "flakeward-csi:", err)
		os.Exit(2)
	}
	ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer end()
	if err := run(ctx, c); err != nil {
		slog.Error("the CSI driver failed", "error", err)
		os.Exit(1)
	}
}

// validate returns what is wrong with the flags.
func (c config) validate(arguments []string) error {
	switch {
	case len(arguments) > 0:
		return fmt.Errorf("%q is no flag: remove it", arguments[0])
	case !isPath(c.registration):
		return fmt.Errorf("--registration %q: give an absolute path in kubelet's plugins_registry", c.registration)
	case !isPath(c.socket) || filepath.Dir(c.socket) == "/":
		return fmt.Errorf("--socket %q: give the daemon's socket as an absolute path, not in the root directory", c.socket)
	case c.node == "" || len(c.node) > 256:
		return fmt.Errorf("--node has %d bytes: give the node's name, 1 to 256 bytes", len(c.node))
	}
	return nil
}

// isPath reports whether a path is absolute and in its shortest form.
func isPath(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && path != "/" && !strings.ContainsRune(path, 0)
}

// run serves until ctx ends, or until kubelet refuses the driver. Mounts stay as they are.
func run(ctx context.Context, c config) error {
	// A driver that was killed left its socket. What is no socket stays, and listening fails.
	if info, err := os.Lstat(c.registration); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(c.registration); err != nil {
			return fmt.Errorf("cannot replace the socket of the driver before: %w", err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: c.registration, Net: "unix"})
	if err != nil {
		return fmt.Errorf("cannot make the driver's socket: %w", err)
	}
	if err := os.Chmod(c.registration, 0o600); err != nil {
		return errors.Join(fmt.Errorf("cannot close the driver's socket to others: %w", err), l.Close())
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, identity{})
	csi.RegisterNodeServer(server, &node{config: c})
	registration.RegisterRegistrationServer(server, registrar{refused: end})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	slog.Info("the CSI driver serves", "registration", c.registration, "socket", c.socket, "node", c.node, "version", version)
	select {
	case err := <-served:
		return fmt.Errorf("the driver's socket failed: %w", err)
	case <-ctx.Done():
	}
	late := time.AfterFunc(endTimeout, server.Stop)
	defer late.Stop()
	server.GracefulStop()
	if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	slog.Info("the CSI driver exits; mounts stay")
	return nil
}

// identity says who the driver is. It has a node service and nothing else.
type identity struct {
	csi.UnimplementedIdentityServer
}

// GetPluginInfo implements csi.IdentityServer, as do the others.
func (identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: version}, nil
}

func (identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

// Probe says that the driver serves. Whether the daemon does is said for each volume: a driver that
// restarts does not bring the daemon back.
func (identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// registrar tells kubelet of the driver.
type registrar struct {
	registration.UnimplementedRegistrationServer
	refused func(error)
}

// GetInfo names no endpoint, so that kubelet calls the driver on the socket where it asks this. The
// path of another socket would have to be given as kubelet sees it.
func (registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: driverName, SupportedVersions: []string{"1.0.0"}}, nil
}

// NotifyRegistrationStatus ends a driver that kubelet refuses: kubelet does not always ask again
// before it sees a new socket.
func (r registrar) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if s.GetPluginRegistered() {
		slog.Info("kubelet has registered the CSI driver")
	} else {
		r.refused(fmt.Errorf("kubelet refuses the CSI driver: %s: fix that, then start the driver again", s.GetError()))
	}
	return &registration.RegistrationStatusResponse{}, nil
}
