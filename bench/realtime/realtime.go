// Package realtime gives processes real-time priority: SCHED_RR with priority 1, the lowest
// (sched(7)). Nothing at the usual priority then keeps them from a processor. Who may is root, or
// has the capability CAP_SYS_NICE.
package realtime

import (
	"errors"
	"io/fs"
)

// Refused reports whether an error of Process says that this process, or this system, may not do it
// at all.
func Refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported)
}
