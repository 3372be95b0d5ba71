//go:build drill

package fault

import (
	"os"
	"os/signal"
	"syscall"
)

var stopAt = os.Getenv(StopAt)

// Point stops the whole process, by SIGSTOP, if the file that the variable StopAt names holds this
// step. The file is removed before, so one process stops, and once. Whoever wrote the file goes on
// from there: it kills the process, or breaks what it likes and sends SIGCONT.
func Point(step Step) {
	if stopAt == "" {
		return
	}
	if said, err := os.ReadFile(stopAt); err != nil || string(said) != string(step) || os.Remove(stopAt) != nil {
		return
	}
	// The kernel may stop the other threads first, and this one would go past the step meanwhile.
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // the process may send itself any signal
	<-resumed
}
