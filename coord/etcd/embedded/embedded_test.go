package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord/etcd/embedded"
	"github.com/flakeward/flakeward/internal/must"
)

func start(t testing.TB, dir string) *embedded.Server {
	t.Helper()
	return must.Get(embedded.Start(t.Context(), embedded.Config{Dir: dir}))(t)
}

func stop(t testing.TB, s *embedded.Server) {
	t.Helper()
	for range 2 { // closing twice is as good
		if err := s.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
}

func TestKeepsItsData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "etcd")
	s := start(t, dir)
	must.Get(s.Client().Put(t.Context(), "/k", "v"))(t)
	stop(t, s)
	s = start(t, dir)
	defer stop(t, s)
	got, err := s.Client().Get(t.Context(), "/k")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "v" {
		t.Errorf("after a restart: %v, %v", got, err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v (%v), want 0700", info.Mode(), err)
	}
}

func TestInUse(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	defer stop(t, s)
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("second start: %v; want an error that names the directory and says that it is in use", err)
	}
	if _, err := s.Client().Get(t.Context(), "/"); err != nil {
		t.Errorf("the first server suffered: %v", err)
	}
}

func TestContextEnded(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedded.Start(ctx, embedded.Config{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v, want the context's error", err)
	}
	stop(t, start(t, dir)) // nothing is left in the way
}

// A first start that was killed before the server was ready leaves a log with
// nothing in it that makes a cluster. The next one starts afresh.
func TestFirstStartThatWasKilled(t *testing.T) {
	dir := t.TempDir()
	stop(t, start(t, dir))
	for _, name := range []string{"born", filepath.Join("member", "snap", "db")} {
		must.Do(t, os.Remove(filepath.Join(dir, name)))
	}
	stop(t, start(t, dir))
}

func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	if _, err := embedded.Start(t.Context(), embedded.Config{Dir: filepath.Join(file, "etcd")}); err == nil {
		t.Error("started below a file")
	}
}

// Data that is damaged is an error, though etcd would end the process.
func TestDamagedData(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"log": func(t *testing.T, path string) {
			if filepath.Ext(path) == ".wal" {
				overwrite(t, path)
			}
		},
		"database": func(t *testing.T, path string) {
			if filepath.Base(path) == "db" {
				overwrite(t, path)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Not t.TempDir: what etcd leaves behind may still make files in it.
			dir := must.Get(os.MkdirTemp("", "damaged"))(t)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			stop(t, start(t, dir))
			must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					damage(t, path)
				}
				return err
			}))
			var log bytes.Buffer
			s, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Log: hclog.New(&hclog.LoggerOptions{Output: &log})})
			if err == nil {
				stop(t, s)
				t.Fatal("started on damaged data")
			}
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("the error %q does not name %s", err, dir)
			}
			if !errors.Is(err, embedded.ErrFailed) {
				t.Errorf("the error %q is not ErrFailed", err)
			}
			// The lock is this process's own, by whatever path.
			link := filepath.Join(t.TempDir(), "link")
			must.Do(t, os.Symlink(dir, link))
			for _, path := range []string{dir, link} {
				if _, again := embedded.Start(t.Context(), embedded.Config{Dir: path}); !errors.Is(again, embedded.ErrFailed) || again.Error() != err.Error() {
					t.Errorf("started again at %s: %v; want %v", path, again, err)
				}
			}
		})
	}
}

func overwrite(t *testing.T, path string) {
	t.Helper()
	f := must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t)
	defer f.Close()
	must.Get(f.Write(bytes.Repeat([]byte{0xff}, 16<<10)))(t)
}
