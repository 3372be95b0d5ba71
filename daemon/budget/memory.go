package budget

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

const (
	mib = 1 << 20

	// DefaultMemory is what the process may use where nobody has set a limit, in bytes.
	DefaultMemory = 512 * mib
	// LeastMemory is the lowest limit that can be kept to, in bytes.
	LeastMemory = 64 * mib

	// base is what a daemon needs without any client, in bytes.
	base = 48 * mib
	// outside is what of it Go's runtime does not count: the program's own pages, files in memory.
	outside = 32 * mib
	// leastShare is left to clients however low the limit is.
	leastShare = 4 * mib
)

// Memory is how much of it the process may use.
type Memory struct {
	Bytes  int64
	Source string // where that figure is from, for people
}

// FindMemory is what was asked for, if that is above 0; or else three quarters of the limit of the
// process's cgroup, as the kernel's buffers count there, too; or DefaultMemory.
func FindMemory(asked int64) Memory {
	if asked > 0 {
		return Memory{asked, "--memory"}
	}
	if n, ok := cgroupLimit(os.DirFS("/")); ok {
		return Memory{n / 4 * 3, "three quarters of the cgroup's limit"}
	}
	return Memory{DefaultMemory, "the default"}
}

// Runtime is what Go's runtime may use of it, in bytes: above that garbage is collected sooner. A
// collection takes time, in which more is used, so a part is left for that.
func (m Memory) Runtime() int64 { return max(m.Bytes-m.Bytes/16-outside, m.Bytes/2) }

// Clients is what may be kept for clients, in bytes: half of what a daemon without clients leaves.
// The other half is what is no longer in use, and not collected yet.
func (m Memory) Clients() int64 { return max((m.Bytes-base)/2, leastShare) }

// cgroupLimit is the lowest limit of memory that the process's cgroup has, or one above it; false
// if there is none. The hierarchy of version 1 is read where that is used.
func cgroupLimit(root fs.FS) (bytes int64, ok bool) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	lowest := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		switch {
		case fields[0] == "0" && fields[1] == "":
			lowest = min(lowest, lowestIn(root, "sys/fs/cgroup", fields[2], "memory.max"))
		case fields[1] == "memory":
			lowest = min(lowest, lowestIn(root, "sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes"))
		}
	}
	return lowest, lowest < none
}

// none is what version 1 shows for no limit, or less: no machine has that much.
const none = 1 << 50

// lowestIn is the lowest limit in the directory of a group and those above it. In a container the
// group's own directory may be the mount itself.
func lowestIn(root fs.FS, mount, group, file string) int64 {
	lowest := int64(math.MaxInt64)
	for dir := path.Join(mount, path.Clean("/"+group)); len(dir) >= len(mount); dir = path.Dir(dir) {
		text, err := fs.ReadFile(root, path.Join(dir, file))
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			lowest = min(lowest, n)
		}
	}
	return lowest
}
