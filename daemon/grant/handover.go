package grant

import (
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
	return Handed{Worker: s.current.worker, Opening: s.current.opening, Last: s.current.stop()}
}

// TakeOver begins to issue from the journal's grant, above what was handed over. It is a cold start
// that need not go by the journal's mark. Inherit has been called before. The error, after which
// the journal's mark counts, is ErrNoGrant if there is nothing to issue from. Nothing is written: the
// journal's mark is ahead of what was handed over.
func TakeOver(k *Holder, from Handed) error {
	cur := k.held.snapshot().current
	if from.Worker == coord.AnyWorker {
		return ErrNoGrant
	}
	if from.Worker != cur.worker || from.Opening != cur.opening || from.Last > cur.mark {
		return fmt.Errorf("%w: the journal is of worker ID %d up to tick %d, and worker ID %d up to tick %d was handed over",
			ErrNoGrant, cur.worker, cur.mark, from.Worker, from.Last)
	}
	k.claimer.skipped = from.Last // all that was issued is known
	return k.claimer.goOn(from.Last)
}
