package server

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Memory is what a process has in physical memory, in bytes.
type Memory struct {
	Resident int64 // now
	Peak     int64 // at most since its start
}

// Memory reads the process's memory. It needs /proc, which only Linux has.
func (s *Server) Memory() (Memory, error) {
	text, err := s.read("status")
	if err != nil {
		return Memory{}, err
	}
	return parseMemory(text)
}

// CPU reads how much processor time the process has used, in user and kernel mode, all
// its threads together, in steps of 10 ms. It needs /proc, which only Linux has.
func (s *Server) CPU() (time.Duration, error) {
	text, err := s.read("stat")
	if err != nil {
		return 0, err
	}
	return parseCPU(text)
}

func (s *Server) read(file string) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.command.Process.Pid, file))
	if err != nil {
		return "", fmt.Errorf("what %s uses is not known: %w", s.name, err)
	}
	return string(b), nil
}

// parseMemory reads /proc/PID/status (proc_pid_status(5)).
func parseMemory(text string) (Memory, error) {
	var m Memory
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		into := map[string]*int64{"VmRSS": &m.Resident, "VmHWM": &m.Peak}[name]
		if into == nil {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 53)
		if err != nil || kib < 0 {
			return Memory{}, fmt.Errorf("/proc/PID/status: %q is no size", strings.TrimSpace(line))
		}
		*into = kib << 10
	}
	if m.Resident == 0 || m.Peak == 0 {
		return Memory{}, errors.New("/proc/PID/status names no VmRSS or no VmHWM: has the process ended?")
	}
	return m, nil
}

// clockTick is the unit of times in /proc/PID/stat: sysconf(_SC_CLK_TCK) is 100 a second
// on every Linux, whatever the kernel's own tick is (time(7)).
const clockTick = time.Second / 100

// parseCPU reads fields 14, utime, and 15, stime, of /proc/PID/stat (proc_pid_stat(5)).
func parseCPU(text string) (time.Duration, error) {
	// The second field is the program's name in parentheses, and may hold anything.
	end := strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[end+1:])
	const utime, stime = 14 - 3, 15 - 3 // the first one here is field 3
	if end < 0 || len(fields) <= stime {
		return 0, fmt.Errorf("/proc/PID/stat has too few fields: %q", text)
	}
	var ticks int64
	for _, f := range []string{fields[utime], fields[stime]} {
		n, err := strconv.ParseInt(f, 10, 40)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("/proc/PID/stat: %q is no time", f)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}
