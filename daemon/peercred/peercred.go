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

	Pod *Pod `json:",omitempty"` // whose socket it came by; nil: everybody's
}

// Pod is an application with a socket of its own. Whoever comes by that socket is the pod's user,
// whatever its UID.
type Pod struct {
	Directory string // the socket's, as package pods has it
	User      string // namespace/pod
	// Number is the user's in this process, above 0. Two directories of one user have the same.
	Number uint32 `json:"-"`
}

// User returns the pod's user, or the peer's UID in digits, or "unknown".
func (c Credentials) User() string {
	if c.Pod != nil {
		return c.Pod.User
	}
	if !c.Known {
		return "unknown"
	}
	return strconv.FormatUint(uint64(c.UID), 10)
}

// Apart reports whether the peer came by a pod's socket. It is given what an application needs, and
// nothing that tells of other users or asks the coordinator.
func (c Credentials) Apart() bool { return c.Pod != nil }

// Sees reports whether the peer may be told of the other one: a pod of its own connections alone.
func (c Credentials) Sees(other Credentials) bool {
	return !c.Apart() || other.Pod != nil && other.Pod.User == c.Pod.User
}

// Of returns who is at the other end of c. It knows nobody if c is no Unix socket, or if the system
// does not tell.
func Of(c net.Conn) Credentials { return of(c) }
