// Package move moves a cluster from one coordinator to another, with its UUID, while its daemons
// issue. The cluster is the same one there, so journals count on and holders go on from their own.
//
// One record at a time is what decides, by compare-and-swap:
//
//	step  written      to       from then on
//	1     target       Closed   nobody can make another cluster there
//	2     source       Sealed   nothing is granted at the source: its records are final
//	3     target       records  each worker ID's, byte for byte
//	4     source       Left     the move cannot be taken back
//	5     target       Serving  daemons join there
//
// Nothing is granted at the target before 5, and nothing at the source from 2 on. 5 comes after 4
// only, so until 4 the source's record alone says whether the move is taken back. What is granted at
// the target is above what the records say, and they say all that the source has ever granted.
// So no tick of a worker ID can be granted by both, whatever is cut, and however often it is run.
package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault"
)

// Move is a move from one coordinator to another.
type Move struct {
	From, To Side
	// ID names this move, if it is not one that was begun before. It is random, of letters and
	// digits, and never used again.
	ID string
	// Step is told what was done, for people to read; nil: nobody is to know.
	Step func(string)
}

// Side is one of the two coordinators.
type Side struct {
	coord.Mover
	URL string // as people write it, without secrets
}

// Result is what a move has come to.
type Result struct {
	UUID    string
	Records int // worker IDs that were ever held
	Written int // of them, those that this run wrote
	// Ends is the lowest ceiling of those worker IDs that are held at the source: until then their
	// daemons can issue without the target. 0: none is held.
	Ends generator.Tick
}

// RefusedError says why a cluster cannot be moved as things are. Nothing was written for it.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "the cluster is not moved: " + e.Why }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// together is how many records are written at once, and tries how often a step is begun anew that
// others were faster in.
const (
	together = 32
	tries    = 100
)

// Check says whether Run can begin or go on as things are, and returns both places. It writes
// nothing. Another error than a *RefusedError is of a coordinator that does not answer.
func (m Move) Check(ctx context.Context) (from, to coord.Place, err error) {
	if from, to, err = m.places(ctx); err == nil {
		_, err = m.next(from, to)
	}
	return from, to, err
}

func (m Move) places(ctx context.Context) (from, to coord.Place, err error) {
	if from, err = m.From.Place(ctx); err != nil {
		return from, to, err
	}
	to, err = m.To.Place(ctx)
	return from, to, err
}

// Run moves the cluster, or goes on with a move that was cut off. To run it again does no harm.
func (m Move) Run(ctx context.Context) (Result, error) {
	var r Result
	var raced error // the last one
	sealed := false
	for range tries {
		from, to, err := m.places(ctx)
		if err != nil {
			return r, err
		}
		r.UUID = from.UUID
		// A name seals once. Another operator who went on with this move may still be writing the
		// records of the first seal, and by the same name would write them over those of a second one.
		if sealed && from.Stage == coord.Serving {
			return r, refuse("it was taken back by another operator meanwhile; to move it all the same, run it again")
		}
		step, err := m.next(from, to)
		if err != nil {
			return r, err
		}
		if step == nil {
			return r, m.finish(ctx, from, &r)
		}
		err = step(ctx, &r)
		if err != nil && (!errors.Is(err, coord.ErrRaced) || ctx.Err() != nil) {
			return r, err
		}
		if err != nil {
			raced = err
		}
		sealed = sealed || from.Stage == coord.Sealed || err == nil && m.closed(from, to)
	}
	return r, refuse("others change the cluster record at the same time; run it again when they have ended (the last try that failed: %v)", raced)
}

// step does what comes next.
type step func(ctx context.Context, r *Result) error

// next is the step that comes next; nil: all is done.
func (m Move) next(from, to coord.Place) (step, error) {
	closed := coord.Place{Stage: coord.Closed, UUID: from.UUID, Move: from.Move, Peer: m.From.URL}
	mine := to.Stage == coord.Closed && to.UUID == from.UUID && to.Move == from.Move
	free := to.Stage == coord.Absent || to.UUID == from.UUID && (to.Stage == coord.Closed || to.Stage == coord.Left)
	switch from.Stage {
	case coord.Absent:
		return nil, refuse("%s holds none", m.From.URL)
	case coord.Closed:
		return nil, refuse("it is being moved to %s from %s, and is not there yet", m.From.URL, from.Peer)
	case coord.Serving:
		if !free {
			return nil, refuse("%s holds cluster %s already (%s); give an empty prefix or chroot", m.To.URL, to.UUID, to.Stage)
		}
		if !m.closed(from, to) {
			closed.Move = m.ID
			return m.change(m.To, to, closed), nil
		}
		sealed := from
		sealed.Stage, sealed.Move, sealed.Peer = coord.Sealed, m.ID, m.To.URL
		return m.change(m.From, from, sealed), nil
	case coord.Sealed:
		switch {
		case mine:
			left := from
			left.Stage = coord.Left
			return m.copied(from, to, m.change(m.From, from, left)), nil
		case free && from.Peer == m.To.URL:
			return m.change(m.To, to, closed), nil
		}
		return nil, refuse("a move to %s was begun before; go on with that one, or take it back with --abort", from.Peer)
	}
	switch { // Left
	case to.Stage == coord.Serving && to.UUID == from.UUID:
		return nil, nil
	case mine:
		return m.opened(from, to), nil
	}
	return nil, refuse("it was moved from %s to %s, and %s does not hold it: if that was wiped since, it is lost there. "+
		"Nothing is copied again, for IDs may have been issued from it", m.From.URL, from.Peer, m.To.URL)
}

// closed reports whether the target is closed for this move, so that the seal comes next.
func (m Move) closed(from, to coord.Place) bool {
	return from.Stage == coord.Serving && to.Stage == coord.Closed && to.Move == m.ID
}

// change is the step that replaces one side's cluster record.
func (m Move) change(side Side, was, next coord.Place) step {
	return func(ctx context.Context, _ *Result) error {
		before(next.Stage)
		err := side.Change(ctx, was, next)
		after(next.Stage)
		if err == nil {
			m.say("%s: %s", side.URL, done[next.Stage])
		}
		return err
	}
}

// before and after are where a drill stops the process. The compiler leaves nothing of calls with
// constants.
func before(write coord.Stage) {
	switch write {
	case coord.Closed:
		fault.Point(fault.MoveClosed)
	case coord.Sealed:
		fault.Point(fault.MoveSealed)
	case coord.Left:
		fault.Point(fault.MoveLeft)
	case coord.Serving:
		fault.Point(fault.MoveServing)
	}
}

func after(write coord.Stage) {
	switch write {
	case coord.Closed:
		fault.PointAfter(fault.MoveClosed)
	case coord.Sealed:
		fault.PointAfter(fault.MoveSealed)
	case coord.Left:
		fault.PointAfter(fault.MoveLeft)
	case coord.Serving:
		fault.PointAfter(fault.MoveServing)
	}
}

// done says what a stage means.
var done = map[coord.Stage]string{
	coord.Closed:  "closed to daemons until it holds the cluster",
	coord.Sealed:  "sealed: nothing is granted there any more; daemons issue to the end of their grants",
	coord.Left:    "left for good",
	coord.Serving: "serves the cluster",
}

func (m Move) say(format string, args ...any) {
	if m.Step != nil {
		m.Step(fmt.Sprintf(format, args...))
	}
}

// copied is the step that makes the target's records those of the source, and then does next.
func (m Move) copied(from, to coord.Place, next step) step {
	return func(ctx context.Context, r *Result) error {
		missing, err := m.missing(ctx, from, to)
		if err != nil {
			return err
		}
		var written atomic.Int64
		writers, writing := errgroup.WithContext(ctx)
		writers.SetLimit(together)
		for _, c := range missing {
			writers.Go(func() error {
				c, err := m.From.History(writing, from, c)
				if err == nil {
					// It ends also where another fails: one that is given up may leave a claim behind.
					err = m.store(ctx, to, c)
				}
				if err == nil {
					written.Add(1)
				}
				return err
			})
		}
		err = writers.Wait()
		r.Written += int(written.Load())
		if err != nil {
			return err
		}
		m.say("%s: %d records written", m.To.URL, written.Load())
		return next(ctx, r)
	}
}

func (m Move) store(ctx context.Context, to coord.Place, c coord.Copy) error {
	fault.Point(fault.MoveRecord)
	err := m.To.Store(ctx, to, c)
	fault.PointAfter(fault.MoveRecord)
	return err
}

// missing are the source's records that the target does not have.
func (m Move) missing(ctx context.Context, from, to coord.Place) ([]coord.Copy, error) {
	source, err := m.From.Records(ctx, from)
	if err != nil {
		return nil, err
	}
	target, err := m.To.Records(ctx, to)
	if err != nil {
		return nil, err
	}
	there := make(map[int][]byte, len(target))
	for _, c := range target {
		there[c.Worker] = c.Record
	}
	var missing []coord.Copy
	for _, c := range source {
		if !bytes.Equal(there[c.Worker], c.Record) {
			missing = append(missing, c)
		}
	}
	return missing, nil
}

// opened is the step that has the target serve. It looks first that all records are there: one that
// was wiped after the source was left must not serve.
func (m Move) opened(from, to coord.Place) step {
	return func(ctx context.Context, r *Result) error {
		missing, err := m.missing(ctx, from, to)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			return refuse("%s lacks the records of %d worker IDs, though it had them: it was wiped or changed since", m.To.URL, len(missing))
		}
		serving := from
		serving.Stage, serving.Move, serving.Peer = coord.Serving, "", ""
		return m.change(m.To, to, serving)(ctx, r)
	}
}

// finish counts what there is at the source.
func (m Move) finish(ctx context.Context, from coord.Place, r *Result) error {
	all, err := m.From.Records(ctx, from)
	if err != nil {
		return err
	}
	r.Records = len(all)
	for _, c := range all {
		if c.Held && (r.Ends == 0 || c.Ceiling < r.Ends) {
			r.Ends = c.Ceiling
		}
	}
	return nil
}

// Abort takes a move back that has not come to step 4: the source serves again. The target stays
// closed, and a later move may go there. It is not asked, so it may be out of reach, and only its
// URL has to be known. Abort reports false if there was nothing to take back.
func (m Move) Abort(ctx context.Context) (aborted bool, err error) {
	for range tries {
		from, err := m.From.Place(ctx)
		if err != nil {
			return false, err
		}
		switch from.Stage {
		case coord.Absent:
			return false, refuse("%s holds none", m.From.URL)
		case coord.Left:
			return false, refuse("it cannot be taken back any more: it was moved to %s; to have it here again, move it back from there", from.Peer)
		case coord.Closed:
			return false, refuse("it is being moved to %s from %s: give these two the other way round", m.From.URL, from.Peer)
		case coord.Serving:
			return false, nil
		case coord.Sealed:
			if from.Peer != m.To.URL {
				return false, refuse("the move that was begun goes to %s: give that one to take it back", from.Peer)
			}
		}
		serving := from
		serving.Stage, serving.Move, serving.Peer = coord.Serving, "", ""
		err = m.change(m.From, from, serving)(ctx, nil)
		if err == nil || !errors.Is(err, coord.ErrRaced) || ctx.Err() != nil {
			return err == nil, err
		}
	}
	return false, refuse("others change the cluster record at the same time; run it again when they have ended")
}
