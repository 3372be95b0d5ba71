package etcd_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/embedded"
)

// harness is a kit's harness on any client.
type harness struct {
	client *clientv3.Client
	config etcd.Config
	faults map[coord.Coordinator]*etcd.Faults
	root   string
}

func newHarness(client *clientv3.Client, config etcd.Config) *harness {
	return &harness{client: client, config: config, faults: map[coord.Coordinator]*etcd.Faults{}}
}

func (h *harness) kit(halt func(testing.TB)) coordtest.Harness {
	return coordtest.Harness{Open: h.open, Revoke: h.revoke, Wipe: h.wipe, Fault: h.fault, Halt: halt}
}

func (h *harness) open(t testing.TB, identity coord.Identity) coord.Coordinator {
	t.Helper()
	config := h.config
	config.Identity = identity
	c, err := etcd.New(h.client, config)
	if err != nil {
		t.Fatal(err)
	}
	f := &etcd.Faults{}
	f.Watch(c)
	h.faults[c], h.root = f, c.Root()
	t.Cleanup(func() { _ = c.Close() }) // the case may have halted the server
	return c
}

func (h *harness) revoke(t testing.TB, c coord.Coordinator) {
	t.Helper()
	if err := etcd.EndSession(t.Context(), c.(*etcd.Coordinator), h.client); err != nil {
		t.Fatalf("revoke: %v", err)
	}
}

func (h *harness) wipe(t testing.TB) {
	t.Helper()
	if got, err := h.client.Delete(t.Context(), h.root, clientv3.WithPrefix()); err != nil || got.Deleted == 0 {
		t.Fatalf("wipe: %v, %v", got, err)
	}
}

func (h *harness) fault(t testing.TB, c coord.Coordinator, n int, landed bool) func() bool {
	return h.faults[c].Arm(n, landed)
}

// startEmbedded starts a server of its own for the test.
func startEmbedded(t testing.TB, config embedded.Config) *embedded.Server {
	t.Helper()
	if config.Dir == "" {
		config.Dir = filepath.Join(t.TempDir(), "etcd")
	}
	s, err := embedded.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the embedded server: %v", err)
		}
	})
	return s
}

func TestConformanceEmbedded(t *testing.T) {
	coordtest.Run(t, func(t *testing.T) coordtest.Harness {
		s := startEmbedded(t, embedded.Config{})
		return newHarness(s.Client(), etcd.Config{Where: "embedded", MakeRoom: s.MakeRoom}).kit(func(t testing.TB) {
			if err := s.Close(); err != nil {
				t.Errorf("halt: %v", err)
			}
		})
	})
}

func TestConformanceCluster(t *testing.T) {
	client := startCluster(t, 3)
	var trees atomic.Int64
	coordtest.Run(t, func(*testing.T) coordtest.Harness {
		prefix := fmt.Sprintf("tree%d", trees.Add(1))
		return newHarness(client, etcd.Config{Prefix: prefix, Where: "cluster"}).kit(nil)
	})
}

// startCluster starts a real cluster that listens on loopback, on ports that the
// kernel chooses, and returns a client of all members.
func startCluster(t *testing.T, members int) *clientv3.Client {
	t.Helper()
	dir := t.TempDir()
	configs := make([]*embed.Config, members)
	initial := ""
	for i := range configs {
		peer, client := loopback(t), loopback(t)
		c := embed.NewConfig()
		c.Name, c.Dir = fmt.Sprintf("m%d", i), filepath.Join(dir, fmt.Sprint(i))
		c.ListenPeerUrls, c.AdvertisePeerUrls = peer, peer
		c.ListenClientUrls, c.AdvertiseClientUrls = client, client
		c.TickMs, c.ElectionMs = 20, 200
		c.LogLevel, c.LogOutputs = "fatal", []string{"/dev/null"}
		c.QuotaBackendBytes = 64 << 20
		initial += fmt.Sprintf(",%s=%s", c.Name, peer[0].String())
		configs[i] = c
	}
	var endpoints []string
	var running []*embed.Etcd
	for _, c := range configs {
		c.InitialCluster = initial[1:]
		e, err := embed.StartEtcd(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		running = append(running, e)
		endpoints = append(endpoints, c.ListenClientUrls[0].Host)
	}
	for _, e := range running {
		select {
		case <-e.Server.ReadyNotify():
		case <-t.Context().Done():
			t.Fatal("the cluster did not become ready")
		}
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // answers with the end of its own context
	return client
}

func loopback(t *testing.T) []url.URL {
	t.Helper()
	u, err := url.Parse("http://" + freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	return []url.URL{*u}
}
