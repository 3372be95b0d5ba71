package client_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
)

var forms = []client.Form{client.String, client.Base62, client.UUID}

// withCoder starts a daemon of a layout with 63 bits, and returns what reads its IDs, once its
// cluster is known.
func withCoder(t *testing.T, d string) (*daemontest.Daemon, func(f client.Form, text string) int64) {
	t.Helper()
	c := daemontest.Config(d)
	c.Socket.MaxCount = 1000
	daemon := daemontest.Start(t, c)
	layout := must.Get(generator.ParseLayout(c.IDs.Layout))(t)
	_, cluster, _ := strings.Cut(daemon.Log.String(), "joined the cluster: coordinator="+c.Cluster.Coord+" cluster=")
	if len(cluster) < 36 {
		t.Fatalf("the log does not name the cluster:\n%s", daemon.Log)
	}
	coder := form.New(layout, cluster[:36])
	return daemon, func(f client.Form, text string) int64 {
		id, err := coder.Parse(form.Form(f), text)
		if err != nil {
			t.Error(err)
		}
		return id
	}
}

// Whatever the form, no ID comes twice, and those of one call rise, also of more than the daemon
// gives at once.
func TestTextsAreOfDifferentIDs(t *testing.T) {
	daemon, read := withCoder(t, dir(t))
	c := open(t, daemon.Config.Socket.Path)
	var mu sync.Mutex
	seen := map[int64]bool{}
	var group sync.WaitGroup
	for _, f := range forms {
		group.Go(func() {
			for range 3 {
				texts, err := c.As(f).Take(t.Context(), 2500)
				if err != nil || len(texts) != 2500 {
					t.Errorf("%s: %d texts, %v", f, len(texts), err)
					return
				}
				one, err := c.As(f).Next(t.Context())
				if err != nil {
					t.Errorf("%s: %v", f, err)
					return
				}
				last := int64(0)
				mu.Lock()
				for _, text := range append(texts, one) {
					id := read(f, text)
					if id <= last || seen[id] {
						t.Errorf("%s: %s is %d, after %d; it came before: %t", f, text, id, last, seen[id])
					}
					seen[id], last = true, id
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	ids, err := c.TakeIDs(t.Context(), 3000)
	if err != nil || len(ids) != 3000 || !slices.IsSorted(ids) || seen[ids[0]] {
		t.Errorf("%d IDs, %v", len(ids), err)
	}
	for _, f := range []client.Form{0, 99} {
		if _, err := c.As(f).Take(t.Context(), 1); err == nil {
			t.Errorf("%s is taken for a form of texts", f)
		}
	}
	if text, err := c.As(client.UUID).Next(t.Context()); err != nil || uuid.MustParse(text).Version() != 7 {
		t.Errorf("%s, %v", text, err)
	}
}

// A daemon that is started again is found again, and one whose layout has no UUIDs says so.
func TestTextsOutliveARestart(t *testing.T) {
	d := dir(t)
	daemon := start(t, d, "flakeward")
	c := open(t, daemon.Config.Socket.Path)
	var refused *client.RefusedError
	old := open(t, start(t, dir(t), "time=42@1ms,worker=9,sequence=12;epoch=1960-01-01").Config.Socket.Path)
	if _, err := old.As(client.UUID).Next(t.Context()); !errors.As(err, &refused) || !strings.Contains(refused.Text, "before 1970") {
		t.Errorf("of a layout without UUIDs: %v", err)
	}
	before := must.Get(c.As(client.UUID).Next(t.Context()))(t)
	daemon.Stop()
	start(t, d, "flakeward")
	after, err := c.As(client.UUID).Next(t.Context())
	if err != nil || after <= before {
		t.Errorf("%s came after %s: %v", after, before, err)
	}
}

// A call for texts ends with its context and with the client, whether it asks or waits for its
// turn.
func TestCallsForTextsEnd(t *testing.T) {
	for name, end := range map[string]func(c *client.Client, cancel func()) error{
		"context": func(_ *client.Client, cancel func()) error { cancel(); return context.Canceled },
		"client":  func(c *client.Client, _ func()) error { _ = c.Close(); return client.ErrClosed },
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			dialled := make(chan struct{})
			c, err := client.Open("fake", client.DialTimeout(timeout), client.Through(func(context.Context) (net.Conn, error) {
				close(dialled)
				return ours, nil
			}))
			must.Do(t, err)
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ends := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := c.As(client.UUID).Next(ctx)
					ends <- err
				}()
			}
			<-dialled
			want := end(c, cancel)
			for range 2 {
				if err := <-ends; !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
		})
	}
}

// A client that demands a cluster takes no text of another one.
func TestTextsOfAnotherClusterAreNotTaken(t *testing.T) {
	c := open(t, start(t, dir(t), "flakeward").Config.Socket.Path, client.Cluster(examples))
	var other *client.ClusterError
	if _, err := c.As(client.UUID).Next(t.Context()); !errors.As(err, &other) {
		t.Errorf("got %v", err)
	}
}
