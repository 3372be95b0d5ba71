package singleton

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

// childPlaces names the variable by which a process of this test learns that it is the child, and
// which places it is to lock: the socket's name, a space, and the user's directory.
const childPlaces = "FLAKEWARD_TEST_SINGLETON"

// TestMain is the child's life: it takes the locks, says how that went, and holds them until its
// input ends.
func TestMain(m *testing.M) {
	namespace, runtime, child := strings.Cut(os.Getenv(childPlaces), " ")
	if !child {
		os.Exit(m.Run())
	}
	p := places{namespace: namespace, runtime: runtime, temporary: runtime, user: os.Geteuid()}
	l, err := acquire(p, hclog.NewNullLogger())
	fmt.Println(err)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		os.Exit(1)
	}
}

// another is a process with the locks of p, or its error. It is killed with the test.
func another(t *testing.T, p places, flags uintptr) (kill func(), outcome string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childPlaces+"="+p.namespace+" "+p.runtime)
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	child.Stderr = os.Stderr
	if uid := os.Getuid(); uid != 0 && flags != 0 {
		child.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	}
	in := must.Get(child.StdinPipe())(t)
	out := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	kill = sync.OnceFunc(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
		_ = in.Close()
	})
	t.Cleanup(kill)
	outcome = must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	return kill, strings.TrimSpace(outcome)
}

// somewhere is places that no other test has.
func somewhere(t *testing.T) places {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o700))
	name := fmt.Sprintf("@flakeward-test-%d-%s", os.Getpid(), filepath.Base(filepath.Dir(dir))+filepath.Base(dir))
	return places{namespace: name[:min(len(name), 100)], runtime: dir, temporary: dir, user: os.Geteuid()}
}

func take(t *testing.T, p places) *Locks {
	t.Helper()
	l := must.Get(acquire(p, hclog.NewNullLogger()))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// refused takes locks that are held, and returns by which.
func refused(t *testing.T, p places) *HeldError {
	t.Helper()
	l, err := acquire(p, hclog.NewNullLogger())
	if err == nil {
		_ = l.Close()
	}
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("got %v, want a HeldError", err)
	}
	return held
}

func TestSecondDaemonOfANetworkNamespaceIsRefused(t *testing.T) {
	first, second := somewhere(t), somewhere(t)
	second.namespace = first.namespace
	l := take(t, first)
	e := refused(t, second)
	if e.PID != os.Getpid() || e.Lock != "this network namespace" || !strings.Contains(e.Place, first.namespace) {
		t.Errorf("refused by %+v", e)
	}
	says(t, e, e.Place, fmt.Sprint("process ", os.Getpid()))
	must.Do(t, l.Close())
	take(t, second)
}

func TestSecondDaemonOfAUserIsRefused(t *testing.T) {
	first, second := somewhere(t), somewhere(t)
	second.runtime = first.runtime
	l := take(t, first)
	e := refused(t, second)
	if e.PID != os.Getpid() || e.Lock != "this user" || e.Place != filepath.Join(first.runtime, "flakeward", lockName) {
		t.Errorf("refused by %+v", e)
	}
	says(t, e, e.Place, fmt.Sprint("process ", os.Getpid()))

	// Not every process of a user has XDG_RUNTIME_DIR.
	without := somewhere(t)
	without.runtime, without.temporary = "", first.temporary
	if e := refused(t, without); e.Lock != "this user" || filepath.Dir(filepath.Dir(e.Place)) != first.temporary {
		t.Errorf("without a runtime directory: refused by %+v", e)
	}

	// Nothing is left locked by the one that was refused: neither socket nor descriptor.
	third := somewhere(t)
	third.namespace = second.namespace
	take(t, third)

	must.Do(t, l.Close())
	second.namespace = somewhere(t).namespace + "b"
	take(t, second)
}

// says checks that the error tells what to do, and what the lock does not find.
func says(t *testing.T, e *HeldError, more ...string) {
	t.Helper()
	for _, text := range append(more, "--coord etcd://", "--coord zk://", "--coord embedded:", "Containers", e.Lock) {
		if !strings.Contains(e.Error(), text) {
			t.Errorf("%q does not say %q", e, text)
		}
	}
}

func TestLocksEndWithTheirProcess(t *testing.T) {
	p := somewhere(t)
	kill, outcome := another(t, p, 0)
	if outcome != "<nil>" {
		t.Fatal(outcome)
	}
	other := somewhere(t)
	other.namespace = p.namespace
	if e := refused(t, other); e.PID == os.Getpid() || e.PID == 0 {
		t.Errorf("the holder is said to be %d", e.PID)
	}
	kill() // SIGKILL: nothing of the process is left to tidy up
	take(t, p)
}

// A user's lock finds what the namespace's does not, and without either one nothing is refused:
// that is what containers have.
func TestLocksOfAnotherNetworkNamespace(t *testing.T) {
	p := somewhere(t)
	take(t, p)
	if _, outcome := another(t, p, syscall.CLONE_NEWNET); !strings.Contains(outcome, "holds the lock of this user") {
		t.Errorf("the same user in another network namespace: %s", outcome)
	}
	p.runtime = somewhere(t).runtime
	if _, outcome := another(t, p, syscall.CLONE_NEWNET); outcome != "<nil>" {
		t.Errorf("another directory in another network namespace: %s", outcome)
	}
}

// Each refused start connects to the holder's socket once, and nobody accepts.
func TestHolderIsKnownAfterManyRefusals(t *testing.T) {
	first, second := somewhere(t), somewhere(t)
	second.namespace = first.namespace
	take(t, first)
	for i := range 200 {
		if e := refused(t, second); e.PID != os.Getpid() {
			t.Fatalf("after %d refusals the holder is said to be %d", i, e.PID)
		}
	}
}

func TestOneOfManyThatStartAtOnce(t *testing.T) {
	for range 20 {
		same := somewhere(t)
		var mu sync.Mutex
		var won []*Locks
		var group sync.WaitGroup
		for i := range 8 {
			p := somewhere(t)
			if i%2 == 0 {
				p.runtime = same.runtime
			}
			p.namespace = same.namespace
			group.Go(func() {
				l, err := acquire(p, hclog.NewNullLogger())
				mu.Lock()
				defer mu.Unlock()
				var held *HeldError
				switch {
				case err == nil:
					won = append(won, l)
				case !errors.As(err, &held):
					t.Error(err)
				}
			})
		}
		group.Wait()
		if len(won) != 1 {
			t.Fatalf("%d of 8 have the locks", len(won))
		}
		must.Do(t, won[0].Close())
	}
}

func TestPlaceOfTheUsersLock(t *testing.T) {
	own := fmt.Sprint("flakeward-", os.Geteuid())
	for name, tt := range map[string]struct {
		change func(t *testing.T, p *places) // of places with directories run and tmp
		want   string                        // the file below their parent; empty: none
		says   string                        // the error, or the warning
	}{
		"a runtime directory of the user": {func(*testing.T, *places) {}, "run/flakeward/" + lockName, ""},
		"no runtime directory":            {func(_ *testing.T, p *places) { p.runtime = "" }, "tmp/" + own + "/" + lockName, ""},
		"a relative one":                  {func(_ *testing.T, p *places) { p.runtime = "run" }, "tmp/" + own + "/" + lockName, ""},
		"a missing one":                   {func(_ *testing.T, p *places) { p.runtime += "/none" }, "tmp/" + own + "/" + lockName, ""},
		"one that others write to": {func(t *testing.T, p *places) {
			must.Do(t, os.Chmod(p.runtime, 0o777))
		}, "tmp/" + own + "/" + lockName, ""},
		"a directory that others write to": {func(t *testing.T, p *places) {
			p.runtime = ""
			must.Do(t, os.Mkdir(filepath.Join(p.temporary, own), 0o700), os.Chmod(filepath.Join(p.temporary, own), 0o777))
		}, "", "is no directory that user"},
		"a symbolic link": {func(t *testing.T, p *places) {
			must.Do(t, os.Symlink(p.runtime, filepath.Join(p.temporary, own)))
			p.runtime = ""
		}, "", "is no directory that user"},
		"a file": {func(t *testing.T, p *places) {
			p.runtime = ""
			must.Do(t, os.WriteFile(filepath.Join(p.temporary, own), nil, 0o600))
		}, "", "is no directory that user"},
		"a link for a lock": {func(t *testing.T, p *places) {
			must.Do(t, os.Mkdir(filepath.Join(p.runtime, "flakeward"), 0o700),
				os.Symlink("/dev/null", filepath.Join(p.runtime, "flakeward", lockName)))
		}, "", "too many levels of symbolic links"},
		"another user's": {func(_ *testing.T, p *places) { p.user++ }, "", fmt.Sprintf("is no directory that user %d", os.Geteuid()+1)},
		"no directory for temporary files": {func(_ *testing.T, p *places) {
			p.runtime, p.temporary = "", p.temporary+"/none"
		}, "", "no place for this user's lock"},
	} {
		t.Run(name, func(t *testing.T) {
			p := somewhere(t)
			base := p.runtime
			p.runtime, p.temporary = filepath.Join(base, "run"), filepath.Join(base, "tmp")
			must.Do(t, os.Mkdir(p.runtime, 0o700), os.Mkdir(p.temporary, 0o700), os.Chmod(p.temporary, 0o1777))
			tt.change(t, &p)
			log := &logtest.Buffer{}
			l, err := acquire(p, hclog.New(&hclog.LoggerOptions{Output: log}))
			text := log.String()
			if err != nil {
				text = err.Error()
			} else if closing := l.Close(); closing != nil {
				t.Error(closing)
			}
			if tt.says == "" && text != "" || !strings.Contains(text, tt.says) {
				t.Errorf("it says %q, want %q", text, tt.says)
			}
			if tt.want == "" {
				return
			}
			info, err := os.Lstat(filepath.Join(base, tt.want))
			if err != nil || info.Mode() != 0o600|fs.ModeSticky {
				t.Errorf("the lock is %v, %v, want mode 0600 and the sticky bit, so that nobody cleans it up", info, err)
			}
			dir, err := os.Lstat(filepath.Join(base, filepath.Dir(tt.want)))
			if err != nil || dir.Mode() != 0o700|fs.ModeDir {
				t.Errorf("its directory is %v, %v", dir, err)
			}
		})
	}
}

// An earlier holder's longer number does not show through.
func TestHoldersNumberIsTheLast(t *testing.T) {
	p := somewhere(t)
	must.Do(t, os.Mkdir(filepath.Join(p.runtime, "flakeward"), 0o700),
		os.WriteFile(filepath.Join(p.runtime, "flakeward", lockName), []byte("123456789123\n"), 0o600))
	take(t, p)
	p.namespace += "b"
	if e := refused(t, p); e.PID != os.Getpid() {
		t.Errorf("the holder is said to be %d", e.PID)
	}
}

// A socket of that name that does not listen is held as well, by whom is not known.
func TestNamespaceLockOfASilentHolder(t *testing.T) {
	p := somewhere(t)
	fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd) // ends with the test
	must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: p.namespace}))
	if e := refused(t, p); e.PID != 0 || !strings.Contains(e.Error(), "another process holds") {
		t.Errorf("refused by %v", e)
	}
}
