package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
)

// TestMain is a busy process where it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "busy" {
		for range 8 {
			go func() {
				runtime.LockOSThread()
				for {
					_ = os.Getppid()
				}
			}()
		}
		fmt.Fprintln(os.Stderr, "it runs")
		select {}
	}
	os.Exit(m.Run())
}

// What is paused runs nothing any more, on none of its threads.
func TestPauseIsOfAllThreads(t *testing.T) {
	self := must.Get(os.Executable())(t)
	child := exec.Command(self, "busy")
	said := must.Get(child.StderrPipe())(t)
	must.Do(t, child.Start())
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	must.Get(said.Read(make([]byte, 1)))(t)
	for range 50 {
		must.Do(t, process.Pause(child.Process))
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", child.Process.Pid))
		if err != nil || len(tasks) < 4 {
			t.Fatalf("its threads are %q, %v", tasks, err)
		}
		for _, task := range tasks {
			text := must.Get(os.ReadFile(task))(t)
			// The state follows the program's name, which may have spaces and stands in
			// parentheses.
			if _, state, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(state, "T ") {
				t.Fatalf("a thread of a process that is paused: %s", text)
			}
		}
		must.Do(t, child.Process.Signal(syscall.SIGCONT))
	}
}
