package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/bench/redisbench"
)

// describe says what the figures were measured on and with: the machine, and the version of each program.
func describe(ctx context.Context, binary string, chosen []section) []string {
	lines := []string{
		fmt.Sprintf("machine    %d processors, %s; memory %s", runtime.NumCPU(), entry("/proc/cpuinfo", "model name"), entry("/proc/meminfo", "MemTotal")),
		fmt.Sprintf("kernel     %s, clock source %s", kernel(), content("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
		fmt.Sprintf("load       %s before, averages of 1, 5 and 15 minutes", loadAverage()),
		"daemon     " + says(ctx, binary, "version"),
	}
	var seen []string
	for _, s := range chosen {
		for _, program := range s.needs {
			switch {
			case slices.Contains(seen, program):
			case program == redisServer:
				lines = append(lines, "redis      "+says(ctx, program, "--version"))
			case program == redisbench.Program:
				lines = append(lines, "load from  "+says(ctx, program, "--version"))
			}
			seen = append(seen, program)
		}
	}
	return lines
}

const unknown = "unknown"

// says is the first line that a program prints.
func says(ctx context.Context, program string, args ...string) string {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return unknown
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return unknown
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Machine[:])
}

// content is what a small file holds.
func content(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return unknown
	}
	return strings.TrimSpace(string(b))
}

// entry is the value of the first line of that name in a file of the form "name: value".
func entry(path, name string) string {
	for line := range strings.Lines(content(path)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

func loadAverage() string {
	fields := strings.Fields(content("/proc/loadavg"))
	if len(fields) < 3 {
		return unknown
	}
	return strings.Join(fields[:3], " ")
}
