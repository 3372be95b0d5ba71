package daemon_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// A daemon that nobody asks is as well as any other, though the mark on disk is behind the clock.
func TestADaemonThatNobodyAsksIsReady(t *testing.T) {
	t.Parallel()
	r := start(t, config(dir(t)))
	tick := func(info map[string]string, field string) int {
		return must.Get(strconv.Atoi(info[field]))(t)
	}
	for deadline := time.Now().Add(timeout); ; {
		info := r.info()
		if info["state"] != "ready" || info["condition"] != "" {
			t.Fatalf("INFO of a daemon that nobody asks: %v", info)
		}
		if tick(info, "now") > tick(info, "journal_mark") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the mark has not ended within %v: %v", timeout, info)
		}
	}
	r.next()
	if info := r.info(); tick(info, "issued") > tick(info, "journal_mark") {
		t.Errorf("INFO just after a request: %v", info)
	}
}
