package sockettest

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// AsNobody does something as a user who may not write to root's directories. The system tells
// the user of a thread by itself, and this one ends with the goroutine.
func AsNobody(t testing.TB, do func()) {
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
