package server

import (
	"io"
	"os/exec"
	"testing"
	"time"
)

// TestUsage: what the kernel counts for a process that runs, and an error once it is gone.
func TestUsage(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Program{Path: cat, Args: []string{"/dev/zero"}, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	for used := time.Duration(0); used < 3*clockTick; {
		if used, err = s.CPU(); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := s.Memory(); err != nil || m.Resident < 100<<10 || m.Peak < m.Resident || m.Peak > 1<<30 {
		t.Errorf("%+v, %v", m, err)
	}
	s.Kill()
	if m, err := s.Memory(); err == nil {
		t.Errorf("of a process that is gone: %+v", m)
	}
	if used, err := s.CPU(); err == nil {
		t.Errorf("of a process that is gone: %v", used)
	}
}
