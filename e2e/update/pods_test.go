package update

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// pod makes a pod's directory, and returns the path of its socket.
func pod(t *testing.T, dir, name string) string {
	t.Helper()
	err := os.MkdirAll(filepath.Join(dir, "."+name, "socket"), 0o755)
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "."+name, "user"), []byte("test/"+name+"\n"), 0o644))
	err = errors.Join(err, os.Rename(filepath.Join(dir, "."+name), filepath.Join(dir, name)))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name, "socket", "flakeward.sock")
}

// The sockets of pods outlive updates, and a daemon that is killed. The next one takes the place of
// the files that are left, and serves what came and leaves what went meanwhile. No ID comes twice.
func TestPodsOutliveDaemons(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := sockettest.Dir(t)
	h, err := process.NewHost(program, dir+"/h", "--takeover", "--journal-step", "500ms", "--pod-sockets", dir+"/pods")
	if err != nil {
		t.Fatal(err)
	}
	var all []int64
	d := start(t, h)
	a, b := pod(t, dir+"/pods", "a"), pod(t, dir+"/pods", "b")
	serves := func(paths ...string) {
		t.Helper()
		over := make(chan struct{})
		defer time.AfterFunc(time.Minute, func() { close(over) }).Stop()
		for _, path := range paths {
			if !answers(t, path, over) {
				t.Fatalf("nobody answers on %s", path)
			}
		}
	}
	serves(a, b)
	for range times(2, 20) {
		c := ask(t, a, 4, false)
		next := start(t, h)
		<-d.Ended()
		d = next
		all = append(all, c.end()...)
	}
	for i := range times(2, 20) {
		c := ask(t, a, 4, true)
		serves(a)
		if err := d.Kill(); err != nil {
			t.Fatal(err)
		}
		<-d.Ended()
		all = append(all, c.end()...)
		if _, err := os.Lstat(a); err != nil {
			t.Errorf("a killed daemon leaves no file: %v", err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "pods", "b")); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			b = pod(t, dir+"/pods", "b")
		}
		d = start(t, h)
		if i%2 != 0 {
			b = pod(t, dir+"/pods", "b")
		}
		serves(a, b)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{a, b} {
		if _, err := net.Dial("unix", path); err == nil || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the end, %s: %v", path, err)
		}
	}
	if log, err := os.ReadFile(h.Log); err != nil || strings.Contains(string(log), "a pod gets no socket") {
		t.Errorf("a pod was refused, or %v:\n%s", err, log)
	}
	t.Logf("FIGURE %d IDs over %d updates and %d kills", distinct(t, all), times(2, 20), times(2, 20))
}
