package client

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// ErrClosed is returned by calls to a client that was closed.
var ErrClosed = errors.New("flakeward: the client is closed")

// UnavailableError is the daemon's answer while it cannot issue IDs: its clock is behind, its grant
// has ended, or more IDs are asked for than the layout has. The daemon has waited already, up to
// its --max-block, so this is passed on and not tried again. Asking again is safe.
type UnavailableError struct {
	Reason  string        // as the daemon says it
	After   time.Duration // how long the daemon had the request wait; 0: not known, or not at all
	Another time.Duration // how much longer it would have taken; 0: not known
}

func (e *UnavailableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "flakeward: the daemon has no IDs: %s", e.Reason)
	if e.After > 0 {
		fmt.Fprintf(&b, "; it gave up after %v", e.After)
	}
	if e.Another > 0 {
		fmt.Fprintf(&b, ", another %v would have been needed", e.Another)
	}
	b.WriteString("; try again later")
	return b.String()
}

// RefusedError is the daemon's answer to a request that it does not serve, and would not serve
// later: a tenant that the layout does not have, too many connections.
type RefusedError struct {
	Code string // one word in capitals
	Text string // what is wrong, and what can be done
}

func (e *RefusedError) Error() string {
	return "flakeward: the daemon refuses the request: " + e.Code + " " + e.Text
}

// UnreachableError says that there is no connection to a daemon.
type UnreachableError struct {
	Socket string
	Err    error // of the last attempt
}

func (e *UnreachableError) Error() string {
	advice := "is its daemon running? `flakeward status --socket` tells"
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		advice = "there is no such socket; start a daemon, or name the socket of the one that runs"
	case errors.Is(e.Err, syscall.ECONNREFUSED), errors.Is(e.Err, syscall.ENOTSOCK):
		advice = "nobody listens there; start the daemon"
	case errors.Is(e.Err, fs.ErrPermission):
		advice = "this user may not use it: the socket's mode and group say who may (the daemon's --socket-mode and --socket-group)"
	case errors.Is(e.Err, syscall.EINVAL):
		advice = "the path is too long for a socket, or is none"
	}
	return fmt.Sprintf("flakeward: no daemon is reached at the socket %s: %s (%v)", e.Socket, advice, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// ClusterError says that the daemon is not in the cluster that Cluster demands. No ID of it was
// asked for.
type ClusterError struct {
	Socket string
	Want   string // the UUID that is demanded
	Found  string // that of the daemon's cluster; empty: it has joined none yet, and was tried again until the Timeout
}

func (e *ClusterError) Error() string {
	if e.Found == "" {
		return fmt.Sprintf("flakeward: the daemon at the socket %s has not joined a cluster yet, and IDs of cluster %s are demanded: "+
			"its coordinator does not answer, or it has just started; `flakeward status --socket` tells", e.Socket, e.Want)
	}
	return fmt.Sprintf("flakeward: the daemon at the socket %s is in cluster %s, and IDs of cluster %s are demanded: IDs of two clusters may be "+
		"equal, so none is taken. Name the socket of a daemon of cluster %[3]s, or have this daemon join it (its --coord); if cluster %[2]s is "+
		"the right one, demand that", e.Socket, e.Found, e.Want)
}

// ProtocolError says that what answers at the socket does not speak as a flakeward daemon does.
// Nothing of what it said was used, and the connection was closed.
type ProtocolError struct {
	Socket string
	Err    error
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("flakeward: what listens at the socket %s answers as no flakeward daemon does: %v; name the socket of one, of this version or later", e.Socket, e.Err)
}

func (e *ProtocolError) Unwrap() error { return e.Err }
