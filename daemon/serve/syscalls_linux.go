package serve

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below do not tell Go's scheduler that they might block, which costs more than the calls
// are worth at hundreds of thousands a second. Those that wait have a limit.

func readNow(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return count(n, errno), errno
}

func writeNow(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return count(n, errno), errno
}

// pollNow waits for at most as long as told, in whole milliseconds.
func pollNow(epoll int, events []unix.EpollEvent, most time.Duration) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(most.Milliseconds()), 0, 0)
	return count(n, errno)
}

// sleepNow sleeps for d, or until a signal. For a sleep shorter than a few dozen microseconds,
// handing the P over would take longer.
func sleepNow(d time.Duration) {
	// The kernel rounds a thread's sleep up by its slack, 50 µs unless it is told otherwise. Go may
	// run the loop on another thread each time.
	_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0, 0, 0, 0)
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

func count(n uintptr, errno unix.Errno) int {
	if errno != 0 {
		return 0
	}
	return int(n)
}
