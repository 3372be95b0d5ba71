package cli

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// sharedPaths are those of a user whose socket goes below the directory for
// temporary files.
func sharedPaths(t *testing.T) paths {
	t.Helper()
	temp := sockettest.Dir(t)
	return defaultPaths(1000, func(string) string { return "" }, t.TempDir(), temp)
}

// unsafely makes the socket's directory in each way in which another user may
// have put a socket there.
var unsafely = map[string]func(dir string) error{
	"writable by the group": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o770)) },
	"writable by others":    func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o702)) },
	"a link": func(dir string) error {
		return errors.Join(os.Mkdir(dir+"-other", 0o700), os.Symlink(dir+"-other", dir))
	},
}

func TestUnsafeDirectoryOfTheDefaultSocket(t *testing.T) {
	for name, prepare := range unsafely {
		t.Run(name, func(t *testing.T) {
			own := sharedPaths(t)
			dir := filepath.Dir(own.socket)
			must.Do(t, prepare(dir))
			listener := must.Get(net.Listen("unix", own.socket))(t)
			connected := make(chan int)
			go func() {
				n := 0
				for {
					conn, err := listener.Accept()
					if err != nil {
						connected <- n
						return
					}
					n++
					_ = conn.Close()
				}
			}()
			for _, args := range []string{"daemon", "status", "next", "decode 5", "bounds --from 2026-02-02 --to 2026-02-02", "status --socket " + own.socket} {
				begun := false
				var out strings.Builder
				err := newProgram(own, realOutside(func(context.Context, daemon.Config) error { begun = true; return nil })).
					run(t.Context(), append([]string{"flakeward"}, strings.Fields(args)...), strings.NewReader(""), &out, &out)
				var unsafeDir *socketfile.UnsafeDirError
				if !errors.As(err, &unsafeDir) || unsafeDir.Dir != dir || !strings.Contains(err.Error(), "--socket") || ExitCode(err) != ExitFailed {
					t.Errorf("%s: the error is %v", args, err)
				}
				if begun || out.Len() > 0 {
					t.Errorf("%s: begun: %v, printed %q", args, begun, out.String())
				}
			}
			_ = listener.Close()
			if n := <-connected; n > 0 {
				t.Errorf("the commands connected to the socket %d times", n)
			}
		})
	}
}

func TestDirectoryOfTheDefaultSocketIsMadeForItsUser(t *testing.T) {
	own := sharedPaths(t)
	listened := errors.New("listened")
	for range 2 { // made, and found
		err := newProgram(own, realOutside(func(_ context.Context, c daemon.Config) error {
			lock, err := socketfile.TakeLock(c.Socket.Path, 0, "")
			if err != nil {
				return err
			}
			defer lock.Free()
			l, err := lock.Listen(0, -1)
			if err != nil {
				return err
			}
			return errors.Join(listened, l.Close())
		})).run(t.Context(), []string{"flakeward", "daemon"}, nil, &strings.Builder{}, &strings.Builder{})
		if !errors.Is(err, listened) {
			t.Fatalf("the error is %v", err)
		}
		info, err := os.Lstat(filepath.Dir(own.socket))
		if want := fs.ModeDir | 0o700; err != nil || info.Mode() != want {
			t.Errorf("the mode is %v, %v, want %v", info.Mode(), err, want)
		}
	}
}

// A directory that the user chose, or the system made for the user alone, is not
// looked at.
func TestOtherSocketsMayLieAnywhere(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	must.Do(t, unsafely["writable by others"](open))
	socket := filepath.Join(open, "s")
	for name, own := range map[string]paths{"chosen": sharedPaths(t), "the default, not shared": {socket: socket}} {
		if err := own.checkDir(socket); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := own.makeDir(socket); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNobodyHasMadeTheSocketsDirectory(t *testing.T) {
	var out strings.Builder
	err := newProgram(sharedPaths(t), realOutside(nil)).run(t.Context(), []string{"flakeward", "status"}, nil, &out, &out)
	if !errors.Is(err, errNoDaemon) {
		t.Errorf("the error is %v, want %v", err, errNoDaemon)
	}
}
