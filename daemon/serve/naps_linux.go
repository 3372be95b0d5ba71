package serve

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// napLength is how long one nap is. With 30 µs redis-benchmark's 50 clients cost three quarters of the processor time that they
	// cost without naps, and were served 15% faster; 20 µs brought somewhat less, and 50 µs or more no higher rate.
	napLength = 30 * time.Microsecond
	// napRounds is over how many rounds connections are counted as active.
	napRounds = 16
	// napCrowd is how many different connections must have been active in that time. It is above napRounds, so that a nap
	// is only taken where rounds bring more than one request anyway; with 8 clients naps brought nothing.
	napCrowd = 24
	// napWorth is how many connections must have something after a nap for it to have paid.
	napWorth = 3
	// napsSkipped is how many naps are left out after one that did not pay: few, as on a busy machine a nap that took too long says little.
	napsSkipped = 2
)

// naps decides when the loop, with nothing to do, sleeps for a fixed short time rather than until the next event. Being woken is what costs
// most: the client whose request does it pays for it, and so does the loop, for each single request if it is faster than its
// clients. After a nap several requests are there, and nobody had to wake anybody. A nap pays as long as the clients are still
// busy with earlier replies; once most of them have asked again, they may be idle by now, and the loop should have been there.
type naps struct {
	epoch  uint32 // counts the times of napRounds
	rounds int    // in this one
	seen   int    // different connections in this one
	active int    // the same in the last one
	skip   int    // naps to be left out
}

// round begins a round.
func (s *naps) round() {
	if s.rounds++; s.rounds > napRounds {
		s.active, s.seen, s.rounds = s.seen, 0, 1
		s.epoch++
	}
}

// saw is told of each connection that has something; in is the epoch it was seen in last.
func (s *naps) saw(in *uint32) {
	if *in != s.epoch {
		*in = s.epoch
		s.seen++
	}
}

// due tells whether to nap now.
func (s *naps) due() bool {
	if s.active < napCrowd {
		return false
	}
	if s.skip > 0 {
		s.skip--
		return false
	}
	return true
}

// rested is told how many events there were after a nap.
func (s *naps) rested(n int) {
	if n < napWorth || 2*n > s.active {
		s.skip = napsSkipped
	}
}

// nap sleeps for napLength, or until a signal. It holds on to its P meanwhile: that is shorter than handing it over takes.
func nap() {
	// The kernel rounds a thread's sleep up by its slack, 50 µs unless it is told otherwise. Go may run the loop on another
	// thread each time.
	_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0, 0, 0, 0)
	ts := unix.NsecToTimespec(napLength.Nanoseconds())
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}
