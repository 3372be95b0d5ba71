package usage

import (
	"io"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/process"
)

// TestUsage: what the kernel counts for a process that runs, and an error once it is gone.
func TestUsage(t *testing.T) {
	s, err := process.Start(t.Context(), process.Program{Command: []string{"cat", "/dev/zero"}, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill() // twice: then it is gone
	for used := time.Duration(0); used < 3*clockTick; {
		if used, err = CPUOf(s.PID()); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := MemoryOf(s.PID()); err != nil || m.Resident < 100<<10 || m.Peak < m.Resident || m.Peak > 1<<30 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := s.Kill(); err != nil {
		t.Error(err)
	}
	if m, err := MemoryOf(s.PID()); err == nil {
		t.Errorf("of a process that is gone: %+v", m)
	}
	if used, err := CPUOf(s.PID()); err == nil {
		t.Errorf("of a process that is gone: %v", used)
	}
}
