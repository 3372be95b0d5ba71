package client_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
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
	said := must.Get(open(t, c.Socket.Path).Info(t.Context()))(t)
	coder := form.New(layout, info.Parse(said).Map()[info.Cluster])
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

// A UUID is of the cluster that its ID was drawn in, also where the connection breaks, stock is
// left, and another cluster's daemon is behind the socket; and where the daemon had joined none at
// the greeting.
func TestUUIDsAreOfTheClusterThatIssuedTheIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.joins("")
		slow := func(ask) (string, bool) { <-time.After(time.Millisecond); return "", true } // more is fetched ahead
		f.answers(func(a ask) (string, bool) { f.joins(wanted); return slow(a) })
		c := f.open(client.MaxAge(time.Hour))
		layout := must.Get(generator.ParseLayout("flakeward"))(t)
		var moves []time.Time // to the other one of two clusters
		of := map[string]int{}
		take := func(n int) {
			t.Helper()
			for _, text := range must.Get(c.As(client.UUID).Take(t.Context(), n))(t) {
				cluster := wanted
				id, err := form.New(layout, wanted).Parse(form.UUID, text)
				if err != nil {
					cluster = other
					id = must.Get(form.New(layout, other).Parse(form.UUID, text))(t)
				}
				drawnBy := wanted
				for i, move := range moves {
					if f.drawnFor(id).After(move) {
						drawnBy = [2]string{other, wanted}[i%2]
					}
				}
				if cluster != drawnBy {
					t.Fatalf("%s is of cluster %s, and was drawn in %s", text, cluster, drawnBy)
				}
				of[cluster]++
			}
		}
		for _, next := range []string{other, wanted} {
			for range 50 {
				take(1)
			}
			f.answers(func(a ask) (string, bool) { slow(a); return f.draw(a), false })
			for asks, _ := f.counts(); ; take(1) {
				if now, _ := f.counts(); now > asks {
					break
				}
			}
			synctest.Wait() // the connection has ended
			f.joins(next)
			moves = append(moves, time.Now())
			<-time.After(time.Second)
			f.answers(slow)
			if next == wanted {
				take(int(client.Stock(c)) + 5)
			}
			for of[next] < 50 {
				take(1)
				synctest.Wait()
			}
		}
	})
}
