package grant

import (
	"errors"

	"github.com/flakeward/flakeward/generator"
)

// ErrCopied means that this process is a copy of the one that the holder was made in: the machine
// was started from a saved state. The claim and the session are the original's as well. The holder
// sends nothing more, and its lanes give nothing; only another start can go on.
var ErrCopied = errors.New("the virtual machine was cloned or put back, so this process is a copy: " +
	"nothing more is issued from its worker IDs, which its original may still hold")

// copied returns ErrCopied in a copy. Whoever asks the coordinator asks it first, and whoever releases
// asks it again after it has closed the lane. A copy that is made after that does what its original does
// at the same time: the same request, which has the original's nonce, of a lane that is closed in both.
//
// A claim that comes back in a copy is not released: the copy cannot tell whether its original made
// the same one. Nothing was granted with it. If it is nobody's, its node bars its worker ID until
// the session ends that the copy has left.
func copied(machine generator.Generation) error {
	if machine.Changed() {
		return ErrCopied
	}
	return nil
}
