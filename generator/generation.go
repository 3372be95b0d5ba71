package generator

import "sync/atomic"

// Generation is the generation of the virtual machine in which something was made. A machine that
// is started from a saved state, as a clone is, has another one from its first instruction on. The
// zero value is for a machine that tells none, and never changes.
type Generation struct {
	Now  *atomic.Uint64 // the machine's generation as it is; nil: it tells none
	Then uint64         // what it was when this was made
}

// Changed reports whether the machine has another generation than it had: then this process is a
// copy of the one that made the value.
func (g Generation) Changed() bool { return g.Now != nil && g.Now.Load() != g.Then }

// Bind binds the lane to a generation of the machine: in any other one it gives nothing, as if it
// were closed. Bind is called at most once, before anything else is done with the lane.
func (ln *Lane) Bind(to Generation) { ln.machine = to }

// Copied reports whether the machine has another generation than the one that the lane is bound to.
func (ln *Lane) Copied() bool { return ln.machine.Changed() }
