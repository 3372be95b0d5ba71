package server

import (
	"testing"
	"time"
)

func TestParseMemory(t *testing.T) {
	got, err := parseMemory("Name:\tVmRSS\nVmPeak:\t 1949092 kB\nVmHWM:\t   26788 kB\nVmRSS:\t   26780 kB\nThreads:\t9\n")
	if want := (Memory{Resident: 26780 << 10, Peak: 26788 << 10}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, text := range []string{
		"",
		"Name:\tgone\nState:\tZ (zombie)\n",
		"VmHWM:\t1 kB\n",
		"VmHWM:\t1 kB\nVmRSS:\tx kB\n",
		"VmHWM:\t1 kB\nVmRSS:\t-1 kB\n",
		"VmHWM:\t1 kB\nVmRSS:\t1 MB\n",
	} {
		if got, err := parseMemory(text); err == nil {
			t.Errorf("%q gave %+v and no error", text, got)
		}
	}
}

func TestParseCPU(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 150 25 11 12 20 0 1 0 100 0 0\n"
	for _, name := range []string{"(redis-server)", "(a b) (c)", "()"} {
		if got, err := parseCPU("42 " + name + rest); err != nil || got != 1750*time.Millisecond {
			t.Errorf("%s: %v, %v; want 1.75s", name, got, err)
		}
	}
	for _, text := range []string{"", "42 (x) S 1 2", "42 x" + rest, "42 (x) S 1 2 3 4 5 6 7 8 9 10 -150 25 0"} {
		if got, err := parseCPU(text); err == nil {
			t.Errorf("%q gave %v and no error", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Name:\tVmRSS\nVmHWM:\t   26788 kB\nVmRSS:\t   26780 kB\n")
	f.Add("42 (a b) (c) S 1 2 3 4 5 6 7 8 9 10 150 25 11 12 20 0 1 0 100 0 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseMemory(text); err == nil && (m.Resident <= 0 || m.Peak <= 0) {
			t.Errorf("the memory is %+v", m)
		}
		if d, err := parseCPU(text); err == nil && d < 0 {
			t.Errorf("the time is %v", d)
		}
	})
}
