package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/need"
)

// policies are the scheduling policies of a process's threads (proc_pid_stat(5), field 41).
func policies(t *testing.T, pid int) (all []string) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatal(pid, err)
	}
	for _, file := range threads {
		b, err := os.ReadFile(file)
		if err != nil { // the thread is gone
			continue
		}
		text := string(b)
		all = append(all, strings.Fields(text[strings.LastIndexByte(text, ')')+1:])[41-3])
	}
	return all
}

// A generator that is told to has real-time priority before its schedule begins, and no other has.
func TestPacedPriority(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket) // nobody answers: the generator is ended before
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for high, want := range map[bool]string{false: "0", true: "2"} { // SCHED_OTHER, SCHED_RR
		load := paced{Load: openLoad, RealTime: high}
		load.Socket, load.Request, load.Rate, load.Connections, load.Length = socket, []string{"NEXT"}, 10, 1, time.Minute
		s, err := startPace(t.Context(), load)
		if err != nil && strings.Contains(err.Error(), "CAP_SYS_NICE") {
			need.That(t, err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range policies(t, s.PID()) {
			if got != want {
				t.Errorf("real-time %v: a thread has the policy %s, want %s", high, got, want)
			}
		}
		s.end()
	}
}
