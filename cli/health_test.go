package cli

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func TestHealth(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	must.Do(t, err)
	var ready bool
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "no ID can be had: stopped\ngrant-ended: x\n")
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	h := &http.Server{Handler: mux}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	defer func() { _ = h.Close(); <-served }()

	_, _, err = command(t, "", "health", "--socket", socket)
	if ExitCode(err) != ExitNotReady || !strings.Contains(err.Error(), "stopped; grant-ended: x") {
		t.Errorf("not ready: status %d, %v", ExitCode(err), err)
	}
	if out, _, err := command(t, "", "health", "--live", "--socket", socket); err != nil || out != "ok\n" {
		t.Errorf("alive: %q, %v", out, err)
	}
	ready = true
	if out, _, err := command(t, "", "health", "--socket", socket); err != nil || out != "ok\n" {
		t.Errorf("ready: %q, %v", out, err)
	}
	tcp := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address, second := tcp.Addr().String(), make(chan error, 1)
	go func() { second <- h.Serve(tcp) }()
	if out, _, err := command(t, "", "health", "--socket", socket+"x", "--address", address); err != nil || out != "ok\n" {
		t.Errorf("ready at an address: %q, %v", out, err)
	}
	_ = tcp.Close()
	<-second
	if _, _, err = command(t, "", "health", "--socket", socket, "--address", address); ExitCode(err) != ExitNoDaemon {
		t.Errorf("nobody at an address: status %d, %v", ExitCode(err), err)
	}
	_, _, err = command(t, "", "health", "--socket", socket+"x")
	if ExitCode(err) != ExitNoDaemon || !strings.Contains(err.Error(), "there is no such socket") || !strings.Contains(err.Error(), "the end of its log") {
		t.Errorf("nobody: status %d, %v", ExitCode(err), err)
	}
}
