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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self, "busy")
	said, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := process.Pause(child.Process); err != nil {
			t.Fatal(err)
		}
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", child.Process.Pid))
		if err != nil || len(tasks) < 4 {
			t.Fatalf("its threads are %q, %v", tasks, err)
		}
		for _, task := range tasks {
			text, err := os.ReadFile(task)
			if err != nil {
				t.Fatal(err)
			}
			// The state follows the program's name, which may have spaces and stands in
			// parentheses.
			if _, state, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(state, "T ") {
				t.Fatalf("a thread of a process that is paused: %s", text)
			}
		}
		if err := child.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
}
