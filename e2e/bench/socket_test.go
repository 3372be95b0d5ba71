package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/wire"
)

// What Redis is measured with is a fair peer: its IDs are those of the layout "redis", rise, and
// are new each time.
func TestRedisScript(t *testing.T) {
	need.Program(t, redisbench.Server, "scripts/need peers")
	server, socket, err := redis.start(t.Context(), setting{}, t.TempDir()+"/redis")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	command, err := scripted(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := generator.ParseLayout("redis")
	if err != nil {
		t.Fatal(err)
	}
	begun, last := time.Now(), int64(0)
	for range 3000 {
		text, err := load.Ask(t.Context(), socket, (*wire.Reader).Bulk, command...)
		if err != nil {
			t.Fatal(err)
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= last {
			t.Fatalf("%s after %d: %v", text, last, err)
		}
		last = id
	}
	fields, err := layout.Decompose(last)
	if err != nil {
		t.Fatal(err)
	}
	at := layout.StartOf(fields.Tick)
	if fields.Worker != redisWorker || at.Before(begun.Truncate(time.Millisecond)) || at.After(time.Now()) {
		t.Errorf("%d has the worker ID %d and the time %v; it was made after %v", last, fields.Worker, at, begun)
	}
}
