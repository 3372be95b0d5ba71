package daemon_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func layoutOf(t *testing.T, c daemon.Config) *generator.Layout {
	t.Helper()
	return must.Get(generator.ParseLayout(c.IDs.Layout))(t)
}

func TestLife(t *testing.T) {
	c := config(dir(t))
	r := start(t, c)
	seen := map[int64]bool{}
	last := int64(0)
	note := func(id int64) {
		t.Helper()
		if seen[id] || id <= last {
			t.Fatalf("ID %d came after %d, again: %v", id, last, seen[id])
		}
		seen[id], last = true, id
	}
	note(r.next())
	batch, err := r.client.Do(t.Context(), "NEXT", 1000).Int64Slice()
	if err != nil || len(batch) != 1000 {
		t.Fatalf("NEXT 1000: %d IDs, %v", len(batch), err)
	}
	for _, id := range batch {
		note(id)
	}
	runs, err := r.client.Do(t.Context(), "RUN", 5000).Int64Slice()
	if err != nil || len(runs) < 5 || len(runs)%2 != 1 {
		t.Fatalf("RUN 5000: %v, %v", runs, err)
	}
	total := int64(0)
	for i := 1; i < len(runs); i += 2 {
		total += runs[i+1]
		for n := range runs[i+1] {
			note(runs[i] + n*runs[0])
		}
	}
	if total != 5000 {
		t.Errorf("RUN 5000 gave %d IDs", total)
	}
	before := r.info()
	if before["state"] != "ready" || before["total_ids_issued"] != "6001" || before["unique_within"] != "host" {
		t.Errorf("INFO: %v", before)
	}
	parts, err := layoutOf(t, c).Decompose(last)
	if err != nil || strconv.FormatUint(parts.Worker, 10) != before["worker_id"] {
		t.Errorf("ID %d is of worker %d (%v), INFO says %s", last, parts.Worker, err, before["worker_id"])
	}
	r.Stop()

	if _, err := os.Lstat(c.Socket.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket file is still there: %v", err)
	}
	again := start(t, c)
	if got := again.info()["worker_id"]; got != before["worker_id"] {
		t.Errorf("came back with worker ID %s, had %s", got, before["worker_id"])
	}
	note(again.next())
}

func TestLayoutWhoseTimeIsUsedUp(t *testing.T) {
	c := config(dir(t))
	c.IDs.Layout = "uidgenerator"
	if err := launch(t, c).End(); err == nil || !strings.Contains(err.Error(), "2024-11-20") {
		t.Errorf("ended with %v, want the date", err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		flag   string
		change func(*daemon.Config)
	}{
		{"socket", func(c *daemon.Config) { c.Socket.Path = "" }},
		{"socket-mode", func(c *daemon.Config) { c.Socket.Mode = 0o060 }},
		{"socket-mode", func(c *daemon.Config) { c.Socket.Mode = 0o4666 }},
		{"coord", func(c *daemon.Config) { c.Cluster.Coord = "" }},
		{"coord", func(c *daemon.Config) { c.Cluster.Coord = "redis://h" }},
		{"ttl", func(c *daemon.Config) { c.Cluster.TTL = time.Second }},
		{"layout", func(c *daemon.Config) { c.IDs.Layout = "nonsense" }},
		{"form", func(c *daemon.Config) { c.IDs.Form = "strin" }},
		{"form", func(c *daemon.Config) { c.IDs.Form, c.IDs.Layout = "uuid", "flakeward;epoch=1960-01-01" }},
		{"datacenter", func(c *daemon.Config) { c.IDs.Datacenter = 1 }},
		{"sequence-start", func(c *daemon.Config) { c.IDs.SequenceStart = "" }},
		{"max-sleep", func(c *daemon.Config) { c.Waiting.MaxSleep = 2 * time.Second }},
		{"max-block", func(c *daemon.Config) { c.Waiting.MaxBlock = 0 }},
		{"burst", func(c *daemon.Config) { c.Waiting.Burst = -time.Millisecond }},
		{"burst", func(c *daemon.Config) { c.Waiting.Burst = 999 * time.Microsecond }},
		{"burst", func(c *daemon.Config) { c.Waiting.Burst = 2*time.Second + 1 }},
		{"restart-wait", func(c *daemon.Config) { c.RestartWait = time.Hour }},
		{"publish", func(c *daemon.Config) { c.Grant.Publish = time.Millisecond }},
		{"window", func(c *daemon.Config) { c.Grant.Window = 19 * time.Second }},
		{"window", func(c *daemon.Config) { c.Grant.Window = 25 * time.Hour }},
		{"listen", func(c *daemon.Config) { c.Listen.Address, c.Socket.AllowUIDs = "127.0.0.1:0", []uint32{7} }}, // without a password
		{"max-connections", func(c *daemon.Config) { c.Socket.MaxConnections = 0 }},
		{"max-count", func(c *daemon.Config) { c.Socket.MaxCount = 0 }},
	} {
		base := config("/x")
		must.Do(t, base.Validate())
		c.change(&base)
		if err := base.Validate(); err == nil || !strings.HasPrefix(err.Error(), "--"+c.flag+":") {
			t.Errorf("%s: %v", c.flag, err)
		}
		if _, err := daemon.New(base); err == nil {
			t.Errorf("%s: a daemon is made", c.flag)
		}
	}
}
