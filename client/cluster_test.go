package client_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakeward/flakeward/client"
)

const (
	wanted = "0b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b10"
	other  = "a4943c11-7c5e-4c60-964d-5d3d4cd9c108"
)

// refusedFor is the error of a call that a daemon of the wrong cluster, or of none, was there for.
func refusedFor(t *testing.T, c *client.Client, found string) {
	t.Helper()
	id, err := c.Next(t.Context())
	var e *client.ClusterError
	if !errors.As(err, &e) || e.Found != found || id != 0 {
		t.Fatalf("got ID %d, %v, want that cluster %q was found", id, err, found)
	}
	for _, text := range []string{e.Socket, e.Want, e.Found} {
		if !strings.Contains(err.Error(), text) || e.Want == "" || e.Socket == "" {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// A daemon of another cluster is asked for nothing, and not waited for: it stays in that.
func TestDaemonOfAnotherClusterIsAskedForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.joins(other)
		c := f.open(client.Cluster(wanted))
		begun := time.Now()
		refusedFor(t, c, other)
		if took := time.Since(begun); took != 0 {
			t.Errorf("it was waited for, for %v", took)
		}
		if asks, _ := f.counts(); asks != 0 {
			t.Errorf("it was asked for IDs %d times", asks)
		}
		f.joins(wanted) // as another daemon at that socket
		nextID(t, c)
	})
}

func TestDaemonWithoutAClusterIsWaitedForAsLongAsTimeoutSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.joins("")
		c := f.open(client.Cluster(wanted))
		begun := time.Now()
		refusedFor(t, c, "")
		if took := time.Since(begun); took < client.DefaultTimeout || took > client.DefaultTimeout+time.Second {
			t.Errorf("it was waited for, for %v", took)
		}
		if asks, _ := f.counts(); asks != 0 {
			t.Errorf("it was asked for IDs %d times", asks)
		}
		joined := time.AfterFunc(time.Second, func() { f.joins(wanted) })
		defer joined.Stop()
		begun = time.Now()
		nextID(t, c)
		if took := time.Since(begun); took < time.Second || took > 2*time.Second {
			t.Errorf("the ID came after %v", took)
		}
	})
}

// Each connection is looked at by itself: behind the socket there may be another daemon.
func TestClusterIsLookedAtWithEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.joins(wanted)
		f.answers(func(a ask) (string, bool) { return f.draw(a), a.number != 3 })
		c := f.open(client.Cluster(strings.ToUpper(wanted)), client.MaxAge(0))
		nextID(t, c)
		nextID(t, c)
		nextID(t, c)
		synctest.Wait() // the connection has ended
		f.joins(other)
		refusedFor(t, c, other)
		if asks, _ := f.counts(); asks != 3 {
			t.Errorf("%d requests for IDs, want the 3 of before", asks)
		}
	})
}

func TestClusterThatIsNoUUIDIsRefused(t *testing.T) {
	for _, uuid := range []string{"", "production", wanted[1:], wanted + "0", "0b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b1g", "0b7d1c586c1c4b5e9d1e6f4f2a7c9b100000"} {
		c, err := client.Open("fake", client.Cluster(uuid))
		if err == nil || !strings.Contains(err.Error(), "cluster_id") {
			t.Errorf("Cluster(%q): %v", uuid, err)
		}
		if err == nil {
			_ = c.Close()
		}
	}
}
