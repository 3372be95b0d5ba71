//go:build unix

package systemd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Origin is where a socket comes from.
type Origin int

// The origins.
const (
	None   Origin = iota // there is no socket
	Unit                 // a socket unit listens on it, before and after the daemon
	Stored               // an earlier start of the daemon has made and stored it
)

// Listener returns the listening socket for the path that systemd handed over, if it did. A socket
// unit's socket for another path is an error: nobody would answer there. What was stored for
// another path, or is not needed beside a unit's, is given up.
func (s *Service) Listener(path string) (*os.File, Origin, error) {
	if s == nil || len(s.sockets) == 0 {
		return nil, None, nil
	}
	var found *os.File
	origin := None
	// A unit's sockets come first.
	slices.SortStableFunc(s.sockets, func(a, b *os.File) int { return rank(a) - rank(b) })
	sockets := s.sockets
	s.sockets = nil
	var errs []error
	for _, f := range sockets {
		stored := f.Name() == storeName
		err := listensOn(f, path)
		switch {
		case err == nil && found == nil:
			found, origin = f, Unit
			if stored {
				origin = Stored
			}
			continue
		case stored:
			errs = append(errs, s.say("FDSTOREREMOVE=1\nFDNAME="+storeName, nil))
		case err != nil:
			errs = append(errs, fmt.Errorf("systemd hands over a socket of the unit %s that does not fit: %w", f.Name(), err))
		}
		_ = f.Close()
	}
	if err := errors.Join(errs...); err != nil {
		if found != nil {
			_ = found.Close()
		}
		return nil, None, err
	}
	return found, origin, nil
}

func rank(f *os.File) int {
	if f.Name() == storeName {
		return 1
	}
	return 0
}

// listensOn returns an error unless f is a stream socket that listens on the path.
func listensOn(f *os.File, path string) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	e := raw.Control(func(fd uintptr) {
		var at unix.Sockaddr
		if at, err = unix.Getsockname(int(fd)); err != nil {
			err = fmt.Errorf("it is no socket: %w", err)
			return
		}
		kind, _ := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE)
		listening, _ := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		where, ok := at.(*unix.SockaddrUnix)
		switch {
		case !ok || kind != unix.SOCK_STREAM || listening == 0:
			err = errors.New("it is no listening Unix stream socket: the unit needs one ListenStream= with a path, and Accept=no")
		case !samePath(where.Name, path):
			err = fmt.Errorf("it listens on %s and --socket is %s: give both the same path", where.Name, path)
		}
	})
	return errors.Join(e, err)
}

func samePath(a, b string) bool {
	whole := func(p string) string {
		if abs, err := filepath.Abs(p); err == nil {
			return abs
		}
		return p
	}
	return whole(a) == whole(b)
}
