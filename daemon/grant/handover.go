package grant

import (
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Handed is what one process hands to another that goes on in its place: how far it has issued from
// the worker ID that its journal names last. It issues nothing above that and writes the journal no
// more.
type Handed struct {
	Worker  int    // coord.AnyWorker: nothing is handed over, and the journal rules
	Opening string // of the worker ID's record
	Last    generator.Tick
	Granted generator.Tick // what the coordinator has acknowledged, and no raise has taken back
}

// HandOver closes the lanes and returns what another holder can go on from. The journal stays as it
// is: its mark is at or above all that was issued. Where the last write of it failed, the file may
// have a mark that a power cut takes back: nobody may issue up to that, and nothing is handed over.
// Nothing else of the holder may run meanwhile, and nothing may be called afterwards.
func HandOver(k *Holder) Handed {
	s := k.held.snapshot()
	s.draining.stop()
	if s.current.lane == nil || s.current.opening == "" || s.revoked || k.held.writer.disk.get() != nil {
		s.current.stop()
		return Handed{Worker: coord.AnyWorker}
	}
	return Handed{Worker: s.current.worker, Opening: s.current.opening, Last: s.current.stop(), Granted: s.current.granted}
}

// ErrNothingHanded means that what was handed over is nothing that could be issued from.
var ErrNothingHanded = errors.New("nothing was handed over that could be issued from")

// TakeOver goes on with the lane that was handed over, up to the journal's mark until that is
// renewed. Inherit has been called before. The error, after which the journal's mark counts, is
// ErrNothingHanded if there is nothing to issue from. Nothing is written: the journal's mark is
// ahead of what was handed over.
func TakeOver(k *Holder, from Handed) error {
	cur := k.held.snapshot().current
	if from.Worker == coord.AnyWorker {
		return ErrNothingHanded
	}
	if from.Worker != cur.worker || from.Opening != cur.opening || from.Last > cur.mark {
		return fmt.Errorf("%w: the journal is of worker ID %d up to tick %d, and worker ID %d up to tick %d was handed over",
			ErrNothingHanded, cur.worker, cur.mark, from.Worker, from.Last)
	}
	k.claimer.skipped = from.Last // all that was issued is known
	if from.Granted <= max(from.Last, k.pace.tick()) {
		return ErrNothingHanded
	}
	lane, err := k.claimer.newLane(cur.worker, from.Last)
	if err != nil {
		return err
	}
	k.held.change(func(now *state) {
		now.current.lane, now.current.granted, now.current.handed = lane, from.Granted, true
	})
	k.claimer.issuer.Use(lane)
	k.held.raise()
	return nil
}
