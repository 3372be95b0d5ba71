package history

import (
	"fmt"
	"slices"
)

// server is what one member of an ensemble has on its disk.
type server struct {
	name      string
	log       []int64 // the zxids of its log, rising
	snapshots []int64 // the zxids that its snapshots are named by, rising
}

// A zxid is the epoch of the leader that proposed the transaction, and its place
// among that leader's: 1, 2, and so on without a gap.
func epochOf(zxid int64) int64 { return zxid >> 32 }
func placeOf(zxid int64) int64 { return zxid & (1<<32 - 1) }

// holds says whether the member's state surely had the transaction: it is in its log, or
// a snapshot of the same epoch is as new.
func (s *server) holds(zxid int64) bool {
	if _, ok := slices.BinarySearch(s.log, zxid); ok {
		return true
	}
	at, _ := slices.BinarySearch(s.snapshots, zxid)
	return at < len(s.snapshots) && epochOf(s.snapshots[at]) == epochOf(zxid)
}

// before returns the transaction that the member's log has before zxid, which is the
// first of an epoch; 0 if that is the first of all. It is sure if nothing can have been
// between them, and the one before was not rolled back: if the member has taken no
// snapshot in between, as one does that was sent another's state.
func (s *server) before(zxid int64) (before int64, sure bool) {
	at, ok := slices.BinarySearch(s.log, zxid)
	if !ok {
		return 0, false
	}
	if at > 0 {
		before = s.log[at-1]
	}
	if before == 0 && !s.fromStart() {
		return 0, false
	}
	next, _ := slices.BinarySearch(s.snapshots, before+1)
	return before, next == len(s.snapshots) || s.snapshots[next] >= zxid
}

// fromStart says whether the member has the snapshot of nothing at all that it began
// with. Of what servers purge, that goes first.
func (s *server) fromStart() bool { return len(s.snapshots) > 0 && s.snapshots[0] == 0 }

// ensemble is what all members have.
type ensemble struct {
	servers []server
	logged  []int64 // all zxids that are in a log, rising
	matters func(zxid int64) bool
}

// settled returns the zxids that were committed, in their order, of those that are in a log.
//
// It goes backwards from the last one that a majority has. Within an epoch there is one
// leader, which commits in order: all before it are committed too. What came before an
// epoch is told by a log that goes on from one to the other without a break.
func (e *ensemble) settled() ([]int64, error) {
	last := e.lastHeld(len(e.logged))
	if err := e.open(last + 1); err != nil {
		return nil, err
	}
	if last < 0 {
		return nil, e.nothing()
	}
	var committed []int64
	for zxid := e.logged[last]; zxid != 0; {
		committed = append(committed, zxid)
		if placeOf(zxid) > 1 {
			zxid--
			if _, ok := slices.BinarySearch(e.logged, zxid); !ok {
				return nil, fmt.Errorf("0x%x follows a transaction that no log has any more: the history is not complete; set autopurge.purgeInterval=0", zxid+1)
			}
			continue
		}
		var err error
		if zxid, err = e.before(zxid); err != nil {
			return nil, err
		}
	}
	slices.Reverse(committed)
	return committed, nil
}

// lastHeld is the last of the first n logged ones that a majority has; -1 if there is none.
func (e *ensemble) lastHeld(n int) int {
	for n--; n >= 0; n-- {
		holders := 0
		for i := range e.servers {
			if e.servers[i].holds(e.logged[n]) {
				holders++
			}
		}
		if holders > len(e.servers)/2 {
			return n
		}
	}
	return -1
}

// open is an error if one of the logged ones from the n-th on, which only a minority has
// in a log, may have been sent to others in a snapshot. Of a snapshot of a later epoch
// the name does not tell.
func (e *ensemble) open(n int) error {
	for ; n < len(e.logged); n++ {
		for _, s := range e.servers {
			if newest := len(s.snapshots) - 1; newest >= 0 && s.snapshots[newest] > e.logged[n] && e.matters(e.logged[n]) {
				return fmt.Errorf("0x%x is in the log of a minority, and %s has the later snapshot 0x%x: whether it was committed cannot be told before there is another transaction; read again", e.logged[n], s.name, s.snapshots[newest])
			}
		}
	}
	return nil
}

// nothing says why there is no history: nil if there was none yet.
func (e *ensemble) nothing() error {
	for _, s := range e.servers {
		for _, snapshot := range s.snapshots {
			if placeOf(snapshot) != 0 {
				return fmt.Errorf("%s has the snapshot 0x%x, and no majority has anything: the history is not complete; set autopurge.purgeInterval=0, and give the directories of all members", s.name, snapshot)
			}
		}
	}
	return nil
}

// before returns the last one that was committed before zxid, the first of its
// epoch; 0 if there is none.
func (e *ensemble) before(zxid int64) (int64, error) {
	at, _ := slices.BinarySearch(e.logged, zxid)
	held := int64(0)
	if n := e.lastHeld(at); n >= 0 {
		held = e.logged[n]
	}
	found, by := int64(-1), ""
	for i := range e.servers {
		before, sure := e.servers[i].before(zxid)
		switch {
		case !sure:
		case found >= 0 && before != found:
			return 0, fmt.Errorf("0x%x follows 0x%x by the log of %s, and 0x%x by that of %s", zxid, found, by, before, e.servers[i].name)
		case before < held:
			return 0, fmt.Errorf("0x%x follows 0x%x by the log of %s, and a majority has 0x%x", zxid, before, e.servers[i].name, held)
		default:
			found, by = before, e.servers[i].name
		}
	}
	if found >= 0 {
		return found, nil
	}
	if err := e.whole(at, zxid); err != nil {
		return 0, err
	}
	for n := at - 1; n >= 0 && e.logged[n] > held; n-- {
		if e.matters(e.logged[n]) {
			return 0, fmt.Errorf("0x%x is in the log of a minority, and no log goes on from it or past it without a break: whether it was rolled back cannot be told", e.logged[n])
		}
	}
	return held, nil
}

// whole is an error if what came before zxid may have been purged. At is its place in logged.
func (e *ensemble) whole(at int, zxid int64) error {
	newest, fromStart := int64(0), false
	if at > 0 {
		newest = e.logged[at-1]
	}
	for _, s := range e.servers {
		fromStart = fromStart || s.fromStart()
		for _, snapshot := range s.snapshots {
			if newest < snapshot && snapshot < zxid && placeOf(snapshot) != 0 {
				return fmt.Errorf("%s has the snapshot 0x%x and no member a log of what led to it: the history is not complete; set autopurge.purgeInterval=0", s.name, snapshot)
			}
		}
	}
	if newest == 0 && !fromStart {
		return fmt.Errorf("the logs begin with 0x%x, and no member has the empty snapshot that it began with: the history is not complete; set autopurge.purgeInterval=0", zxid)
	}
	return nil
}
