package budget

import (
	"math"

	"golang.org/x/sys/unix"
)

// keptDescriptors is how many of the process's file descriptors are not for connections: the
// coordinator, the log, the sockets.
const keptDescriptors = 48

// Reserved is how many connections there may be above the limit for those who look after the
// daemon.
const Reserved = 32

// MostConnections is how many there may be at once: as many as were asked for, or as the process's
// limit of file descriptors leaves room for, and at least one.
func MostConnections(asked int) int {
	return max(1, min(asked, descriptors()-keptDescriptors-Reserved))
}

// Room is how many connections there may be in all, with those above the limit: as many as the
// process's limit of file descriptors leaves room for.
func Room() int { return max(0, descriptors()-keptDescriptors+ending) }

// descriptors is how many files the process may have open. Go has raised the soft limit to the hard
// one by now.
func descriptors() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
