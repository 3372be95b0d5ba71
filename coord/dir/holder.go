package dir

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// holderOf names the process that has the lock on an inode. Linux lists all locks of processes that
// this one can see.
func holderOf(inode uint64) string {
	locks, _ := os.ReadFile("/proc/locks") // elsewhere there is none
	if pids := holders(string(locks), inode); len(pids) > 0 {
		return "process " + strings.Join(pids, " or ")
	}
	return "another process"
}

// holders are the processes that have an inode locked. A line is
//
//	1: FLOCK  ADVISORY  WRITE 4711 fd:00:2097154 0 EOF
//
// The device is left out: that of some file systems is not the one that stat tells.
func holders(locks string, inode uint64) (pids []string) {
	for line := range strings.Lines(locks) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" || !strings.HasSuffix(f[5], ":"+strconv.FormatUint(inode, 10)) {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			pids = append(pids, f[4])
		}
	}
	return pids
}

func inodeOf(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }
func ownerOf(info os.FileInfo) int    { return int(info.Sys().(*syscall.Stat_t).Uid) }
