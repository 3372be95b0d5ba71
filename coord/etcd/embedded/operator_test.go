package embedded_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord/etcd/embedded"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// dirWithRoom is a directory whose path leaves room for a socket's.
func dirWithRoom(t *testing.T) string {
	t.Helper()
	dir := sockettest.Dir(t)
	return filepath.Join(dir, "etcd")
}

func TestOperatorsAskTheRunningServer(t *testing.T) {
	dir := dirWithRoom(t)
	if born, err := embedded.Born(dir); born || err != nil {
		t.Errorf("before the first start: born %v, %v", born, err)
	}
	for range 2 { // the second time a socket may have been left
		s := start(t, dir)
		must.Get(s.Client().Put(t.Context(), "/k", "v"))(t)
		client := must.Get(embedded.Dial(t.Context(), dir, nil))(t)
		got, err := client.Get(t.Context(), "/k")
		if err != nil || got.Count != 1 {
			t.Errorf("an operator reads %v, %v", got, err)
		}
		info, err := os.Stat(filepath.Join(dir, "operator.sock"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket has the mode %v (%v), want 0600", info.Mode(), err)
		}
		stop(t, s) // with the client still connected
		_ = client.Close()
		if _, err := embedded.Dial(t.Context(), dir, nil); err == nil {
			t.Error("a server that has ended was dialled")
		}
		leaveSocket(t, filepath.Join(dir, "operator.sock"))
	}
	if born, err := embedded.Born(dir); !born || err != nil {
		t.Errorf("afterwards: born %v, %v", born, err)
	}
}

// leaveSocket leaves a socket as a process does that was killed.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	must.Do(t, l.Close())
}

// A path that no socket may have costs the operators' access, and nothing else.
func TestLongPath(t *testing.T) {
	dir := filepath.Join(dirWithRoom(t), strings.Repeat("long", 30))
	var log bytes.Buffer
	s := must.Get(embedded.Start(t.Context(), embedded.Config{Dir: dir, Log: hclog.New(&hclog.LoggerOptions{Output: &log})}))(t)
	defer stop(t, s)
	must.Get(s.Client().Put(t.Context(), "/k", "v"))(t)
	if _, err := embedded.Dial(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), "shorter state directory") {
		t.Errorf("Dial: %v; want what to do", err)
	}
	if !strings.Contains(log.String(), "operators' commands cannot ask") {
		t.Errorf("the log does not say so:\n%s", &log)
	}
}

func TestInUseIsToldApart(t *testing.T) {
	dir := dirWithRoom(t)
	s := start(t, dir)
	defer stop(t, s)
	if _, err := embedded.Start(t.Context(), embedded.Config{Dir: dir}); !errors.Is(err, embedded.ErrInUse) {
		t.Errorf("second start: %v, want ErrInUse", err)
	}
}
