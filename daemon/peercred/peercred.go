// Package peercred says who is at the other end of a connection, as the kernel and the socket tell
// it.
package peercred

import (
	"hash/maphash"
	"net"
	"net/netip"
	"strconv"
)

// Credentials name the process that opened a connection. They are read once, when the connection is
// accepted: a process that changes its user later, or hands the connection on, stays who it was.
type Credentials struct {
	Known    bool // the kernel has told; if not, the rest is zero
	UID, GID uint32
	PID      int32 // as this process sees it; 0: the peer is of another PID namespace

	// Pod tells pods of Kubernetes apart that have one UID, where this process sees the peer's PID
	// (hostPID); 0: no pod, this process's own, or not seen. It is for fairness alone: the PID may
	// be another process's by now.
	Pod uint32 `json:",omitempty"`

	Address netip.Addr `json:",omitzero"` // of a peer that came by TCP
}

// User returns the peer's address, or its UID in digits, or "unknown".
func (c Credentials) User() string {
	switch {
	case c.Address.IsValid():
		return c.Address.String()
	case !c.Known:
		return "unknown"
	}
	return strconv.FormatUint(uint64(c.UID), 10)
}

var seed = maphash.MakeSeed()

// Number tells the addresses of peers apart in this process.
func Number(a netip.Addr) uint64 { return maphash.Comparable(seed, a) }

// Of returns who is at the other end of c: the address where that is TCP. It knows nobody if c is
// neither that nor a Unix socket, or if the system does not tell.
func Of(c net.Conn) Credentials {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return Credentials{Address: a.AddrPort().Addr().Unmap()}
	}
	return of(c)
}
