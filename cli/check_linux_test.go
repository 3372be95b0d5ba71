package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/sockettest"
)

// unprivileged does something as a user who may not write to root's directories. The system tells the
// user of a thread by itself, and this one ends with the goroutine.
func unprivileged(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Getuid() == 0 {
			runtime.LockOSThread() // and never unlocked
			const nobody = 65534
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				t.Errorf("setresuid: %v", errno)
				return
			}
		}
		do()
	}()
	<-done
}

// Where this user may not write, a start would be refused, and so says the check.
func TestCheckFindsWhereThisUserMayNotWrite(t *testing.T) {
	dir := sockettest.Dir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	shut := filepath.Join(dir, "shut")
	if err := os.Mkdir(shut, 0o555); err != nil {
		t.Fatal(err)
	}
	unprivileged(t, func() {
		_, err := checks(t, "--check", "--socket", filepath.Join(shut, "new", "s"), "--state-dir", filepath.Join(shut, "state"), "--log-file", filepath.Join(shut, "log"))
		for _, part := range []string{"cannot make the socket", "--socket", "cannot write to the state directory", "--state-dir", "--log-file"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not name %q", err, part)
			}
		}
		if ExitCode(err) != ExitFailed {
			t.Errorf("it ends with %d", ExitCode(err))
		}
	})
}
