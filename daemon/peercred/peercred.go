// Package peercred says who is at the other end of a Unix socket, as the kernel and the socket tell
// it.
package peercred

import (
	"net"
	"strconv"
)

// Credentials name the process that opened a connection. They are read once, when the connection is
// accepted: a process that changes its user later, or hands the connection on, stays who it was.
type Credentials struct {
	Known    bool // the kernel has told; if not, the rest is zero
	UID, GID uint32
	PID      int32 // as this process sees it; 0: the peer is of another PID namespace

	// Pod tells pods of Kubernetes apart that have one UID, where this process sees the peer's PID
	// (hostPID); 0: no pod, this process's own, or not seen. It is for fairness alone: the PID may be
	// another process's by now.
	Pod uint32 `json:",omitempty"`
}

// User returns the peer's UID in digits, or "unknown".
func (c Credentials) User() string {
	if !c.Known {
		return "unknown"
	}
	return strconv.FormatUint(uint64(c.UID), 10)
}

// Of returns who is at the other end of c. It knows nobody if c is no Unix socket, or if the system
// does not tell.
func Of(c net.Conn) Credentials { return of(c) }
