package client_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// A daemon's address on TCP is as good as its socket. A wrong password is told.
func TestAnAddressWithAPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	must.Do(t, os.WriteFile(file, []byte("a secret\n"), 0o600), free.Close())
	config := daemontest.Config(dir(t))
	config.Listen.Address, config.Listen.PasswordFile = free.Addr().String(), file
	daemontest.Start(t, config)
	c := open(t, config.Listen.Address, client.Password("a secret"))
	first, second := must.Get(c.Next(t.Context()))(t), must.Get(c.Next(t.Context()))(t)
	if second <= first {
		t.Errorf("%d comes after %d", second, first)
	}
	if texts, err := c.As(client.UUID).Take(t.Context(), 3); err != nil || len(texts) != 3 {
		t.Errorf("got %q, %v", texts, err)
	}
	for code, options := range map[string][]client.Option{"WRONGPASS": {client.Password("another")}, "NOAUTH": nil} {
		_, err := open(t, config.Listen.Address, append(options, client.Timeout(0))...).Next(t.Context())
		var refused *client.RefusedError
		if !errors.As(err, &refused) || refused.Code != code {
			t.Errorf("got %v, want %s", err, code)
		}
	}
}

// Many goroutines, by Next and by Take, on a real daemon: no ID comes twice; those of one goroutine
// rise; and what a call gets is above what any call got that had returned before it began.
func TestManyGoroutines(t *testing.T) {
	for _, tt := range []struct {
		name, layout string
		options      []client.Option
	}{
		{"room", roomy, nil},
		{"ceiling", "flakeward", nil},
		{"step", stepped, nil},
		{"tenant", tenanted, []client.Option{client.Tenant(3)}},
		{"small runs", roomy, []client.Option{client.LargestRun(7)}},
		{"no stock", roomy, []client.Option{client.MaxAge(0)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := open(t, start(t, dir(t), tt.layout).Config.Socket.Path, tt.options...)
			const goroutines, each = 16, 3000
			take := func(n int) ([]int64, error) {
				if n > 1 {
					return c.TakeIDs(t.Context(), n)
				}
				id, err := c.Next(t.Context())
				return []int64{id}, err
			}
			var highest atomic.Int64
			var group sync.WaitGroup
			got := make([][]int64, goroutines)
			for g := range goroutines {
				group.Go(func() {
					for len(got[g]) < each {
						before, n := highest.Load(), 1
						if len(got[g])%37 == 0 {
							n += len(got[g]) % 300
						}
						ids, err := take(n)
						if err != nil || ids[0] <= before || !slices.IsSorted(ids) {
							t.Errorf("%d after %d had been returned, %v", ids, before, err)
							return
						}
						got[g] = append(got[g], ids...)
						last := ids[len(ids)-1]
						for h := highest.Load(); h < last && !highest.CompareAndSwap(h, last); h = highest.Load() {
						}
					}
				})
			}
			group.Wait()
			seen := make(map[int64]bool, goroutines*each)
			for _, ids := range got {
				for _, id := range ids {
					if seen[id] {
						t.Fatalf("%d was handed out twice", id)
					}
					seen[id] = true
				}
			}
		})
	}
}

// No daemon, in ways that only a file system has.
func TestNoSocket(t *testing.T) {
	d := dir(t)
	for socket, want := range map[string]string{
		d + "/none":                        "no such socket",
		d:                                  "nobody listens",
		"/tmp/" + strings.Repeat("x", 200): "too long",
	} {
		_, err := open(t, socket, client.Timeout(0)).Next(t.Context())
		var unreachable *client.UnreachableError
		if !errors.As(err, &unreachable) || unreachable.Socket != socket || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
