package daemon_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// An idle daemon is as well as any other, though the mark on disk is behind the clock.
func TestAnIdleDaemonIsReady(t *testing.T) {
	t.Parallel()
	c := config(dir(t))
	c.Grant.Idle = time.Second
	r := start(t, c)
	tick := func(info map[string]string, field string) int {
		return must.Get(strconv.Atoi(info[field]))(t)
	}
	for deadline := time.Now().Add(timeout); ; {
		info := r.info()
		if info["idle"] == "true" && tick(info, "now") > tick(info, "journal_mark") {
			if info["state"] != "ready" || info["condition"] != "" {
				t.Errorf("INFO of an idle daemon: %v", info)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not idle within %v: %v", timeout, info)
		}
	}
	r.next()
	if info := r.info(); info["idle"] != "false" || tick(info, "issued") > tick(info, "journal_mark") {
		t.Errorf("INFO just after a request: %v", info)
	}
}
