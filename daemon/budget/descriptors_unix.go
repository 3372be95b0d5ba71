//go:build unix

package budget

import (
	"math"

	"golang.org/x/sys/unix"
)

// descriptors is how many files the process may have open. Go has raised the soft limit to the hard
// one by now.
func descriptors() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
