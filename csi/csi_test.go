//go:build linux

package csi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/flakeward/flakeward/csi/csitest"
)

// running is a driver on its sockets.
type running struct {
	stop  context.CancelFunc
	ended chan error
}

func run(t *testing.T, c Config) running {
	ctx, stop := context.WithCancel(t.Context())
	r := running{stop, make(chan error, 1)}
	go func() { r.ended <- Run(ctx, c) }()
	t.Cleanup(func() { stop(); <-r.ended })
	return r
}

func (r running) end(t *testing.T) {
	t.Helper()
	r.stop()
	err := <-r.ended
	r.ended <- nil // for the end of the test
	if err != nil {
		t.Errorf("the driver ended with %v", err)
	}
}

func configOf(h host) Config {
	dir := filepath.Dir(h.Kubelet)
	return Config{
		Registration: filepath.Join(dir, "reg.sock"), Endpoint: "unix://" + filepath.Join(dir, "csi.sock"),
		PodSockets: h.Pods, Node: "node-1", Version: "1.2.3", Log: hclog.NewNullLogger(),
	}
}

// dial waits for a driver at a socket.
func dial(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("unix://"+strings.TrimPrefix(socket, "unix://"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Kubelet finds the driver by one socket and calls it there. Another one serves the same.
func TestKubeletFindsTheDriver(t *testing.T) {
	h := newHost(t)
	csitest.StartDaemon(t, h.Pods)
	c := configOf(h)
	driver := run(t, c)
	conn := dial(t, c.Registration)
	info, err := registration.NewRegistrationClient(conn).GetInfo(t.Context(), &registration.InfoRequest{})
	if err != nil || info.GetType() != "CSIPlugin" || info.GetName() != Name || info.GetEndpoint() != "" || len(info.GetSupportedVersions()) == 0 {
		t.Errorf("kubelet is told %v, %v", info, err)
	}
	if _, err := registration.NewRegistrationClient(conn).NotifyRegistrationStatus(t.Context(), &registration.RegistrationStatus{PluginRegistered: true}); err != nil {
		t.Error(err)
	}
	if info, err := csi.NewNodeClient(conn).NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{}); err != nil || info.GetNodeId() != "node-1" {
		t.Errorf("the node is %v, %v", info, err)
	}
	if info, err := csi.NewIdentityClient(dial(t, c.Endpoint)).GetPluginInfo(t.Context(), &csi.GetPluginInfoRequest{}); err != nil || info.GetVendorVersion() != "1.2.3" {
		t.Errorf("the plugin is %v, %v", info, err)
	}
	target := h.target("a")
	if _, err := csi.NewNodeClient(conn).NodePublishVolume(t.Context(), publishOf("v", target)); err != nil {
		t.Fatal(err)
	}
	driver.end(t)
	for _, socket := range []string{"reg.sock", "csi.sock"} {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(h.Kubelet), socket)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", socket, err)
		}
	}
	h.serves(target)
	run(t, c)
	conn = dial(t, c.Registration)
	if _, err := csi.NewNodeClient(conn).NodeUnpublishVolume(t.Context(), unpublishOf("v", target)); err != nil {
		t.Fatal(err)
	}
	h.leaves("v", target)
}

// An update starts the new driver before it ends the old one. Kubelet always finds one.
func TestADriverTakesTheSocketsOfAnother(t *testing.T) {
	h := newHost(t)
	c := configOf(h)
	first := run(t, c)
	version := func() string {
		t.Helper()
		info, err := csi.NewIdentityClient(dial(t, c.Registration)).GetPluginInfo(t.Context(), &csi.GetPluginInfoRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return info.GetVendorVersion()
	}
	version() // serves
	next := c
	next.Version = "2"
	second := run(t, next)
	for version() != "2" {
		runtime.Gosched() // until it has the socket
	}
	first.end(t)
	if v := version(); v != "2" {
		t.Errorf("after the old driver %s answers", v)
	}
	second.end(t)
	left, err := os.ReadDir(filepath.Dir(h.Kubelet))
	if err != nil || len(left) != 2 { // kubelet and pods
		t.Errorf("left are %v, %v", left, err)
	}
}

// A driver that kubelet refuses ends with what kubelet says.
func TestADriverThatKubeletRefusesEnds(t *testing.T) {
	h := newHost(t)
	c := configOf(h)
	driver := run(t, c)
	_, err := registration.NewRegistrationClient(dial(t, c.Registration)).NotifyRegistrationStatus(t.Context(),
		&registration.RegistrationStatus{Error: "an odd version"})
	if err != nil && status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	err = <-driver.ended
	driver.ended <- nil
	if err == nil || !strings.Contains(err.Error(), "an odd version") {
		t.Errorf("it ended with %v", err)
	}
}

// A request that waits for the daemon does not hold up the driver's end.
func TestADriverEndsWhileARequestWaits(t *testing.T) {
	h := newHost(t)
	c := configOf(h)
	driver := run(t, c)
	conn := dial(t, c.Endpoint)
	told := make(chan error, 1)
	target := h.target("a")
	go func() {
		_, err := csi.NewNodeClient(conn).NodePublishVolume(t.Context(), publishOf("v", target))
		told <- err
	}()
	for len(list(h.Pods)) == 0 {
		runtime.Gosched() // until the request waits
	}
	driver.end(t)
	if err := <-told; status.Code(err) != codes.Unavailable {
		t.Errorf("the request is told %v", err)
	}
}

func list(dir string) []os.DirEntry {
	all, _ := os.ReadDir(dir)
	return all
}

func TestWhatTheDriverDoesNotStartWith(t *testing.T) {
	h := newHost(t)
	taken := filepath.Join(filepath.Dir(h.Kubelet), "taken")
	if err := os.WriteFile(taken, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Config)
		says   string
	}{
		"no socket":           {func(c *Config) { c.Registration, c.Endpoint = "", "" }, "--registration"},
		"no node":             {func(c *Config) { c.Node = "" }, "--node"},
		"long node":           {func(c *Config) { c.Node = strings.Repeat("a", 257) }, "--node"},
		"no directory":        {func(c *Config) { c.PodSockets = "" }, "--pod-sockets"},
		"directory nowhere":   {func(c *Config) { c.PodSockets = "/none/pods" }, "/none/pods"},
		"directory no path":   {func(c *Config) { c.PodSockets = "pods" }, "absolute"},
		"directory no dir":    {func(c *Config) { c.PodSockets = taken }, "taken"},
		"long directory":      {func(c *Config) { c.PodSockets = "/tmp/" + strings.Repeat("a", 60) }, "too long"},
		"endpoint on TCP":     {func(c *Config) { c.Endpoint = "tcp://127.0.0.1:1" }, "unix://"},
		"relative socket":     {func(c *Config) { c.Endpoint = "csi.sock" }, "absolute"},
		"socket is a file":    {func(c *Config) { c.Registration = taken }, "left alone"},
		"socket in nothing":   {func(c *Config) { c.Registration = "/none/reg.sock" }, "/none/reg.sock"},
		"socket's long name":  {func(c *Config) { c.Endpoint = filepath.Join(h.Kubelet, strings.Repeat("a", 300)) }, "too long"},
		"socket with a NUL":   {func(c *Config) { c.Endpoint = "/a\x00b" }, "absolute"},
		"socket is a folder ": {func(c *Config) { c.Endpoint = h.Kubelet }, "no socket"},
	} {
		config := configOf(h)
		c.change(&config)
		err := Run(t.Context(), config)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
	if b, err := os.ReadFile(taken); string(b) != "x" {
		t.Errorf("what was there is %q, %v", b, err)
	}
	for _, entry := range list(filepath.Dir(h.Kubelet)) {
		if name := entry.Name(); name != "taken" && name != "kubelet" && name != "pods" {
			t.Errorf("%s is left", name)
		}
	}
}
