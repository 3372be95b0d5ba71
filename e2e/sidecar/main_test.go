package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsNotUnderstood(t *testing.T) {
	for _, args := range [][]string{
		nil, {"no"}, {"cut"}, {"heal", "now"}, {"fill"}, {"free"}, {"cat"}, {"cat", "a", "b"}, {"load", "more"},
	} {
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, args := range [][]string{{"cut", "up"}, {"load", "--out", ""}, {"load", "--no-such-flag"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is understood", args)
		}
	}
	t.Setenv("SIDECAR_LOAD", "much")
	if err := run(t.Context(), []string{"load"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "much") {
		t.Errorf("%v", err)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"help"}, &out, &bytes.Buffer{}); err != nil || out.String() != usage {
		t.Errorf("%q, %v", &out, err)
	}
	if err := run(t.Context(), []string{"load", "-h"}, &out, &bytes.Buffer{}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("%v", err)
	}
}

func TestTools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), args, &out, &out); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out.String()
	}
	do("free", filepath.Dir(path))
	if text := do("cat", path); text != "text" {
		t.Errorf("%q", text)
	}
}

func TestPause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"pause"}, &bytes.Buffer{}, &bytes.Buffer{}) }()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// SIGTERM ends it in order.
func TestLoadEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := t.TempDir()
	ended := make(chan error, 1)
	cancel()
	go func() {
		ended <- run(ctx, []string{"load", "--socket", filepath.Join(out, "s"), "--out", out}, &bytes.Buffer{}, &bytes.Buffer{})
	}()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if logs, _ := filepath.Glob(filepath.Join(out, "*.replies")); len(logs) != 1 {
		t.Errorf("%q", logs)
	}
}
