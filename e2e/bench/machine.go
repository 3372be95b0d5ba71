package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/e2e/bench/report"
)

// describe says what the figures are measured on and with.
func describe(ctx context.Context, binary string) report.Machine {
	return report.Machine{
		Processor:  entry("/proc/cpuinfo", "model name"),
		Processors: runtime.NumCPU(),
		Memory:     entry("/proc/meminfo", "MemTotal"),
		Kernel:     kernel(),
		Clock:      content("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Go:         runtime.Version(),
		Daemon:     says(ctx, binary, "version"),
	}
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

// moduleVersion is the version of a module that this program was built with.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return unknown
}
