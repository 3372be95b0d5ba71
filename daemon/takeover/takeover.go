// Package takeover is what two processes of one socket say to each other when one goes on
// in the other's place, so that an update is not noticed.
//
//	newcomer                      running daemon
//	OFFER  version, settings  ->
//	                          <-  ACCEPT  what time it is, and how old it is; or REFUSE and why
//	       (claims a worker ID of its own)
//	READY  whether one was free ->
//	                              (reads no request any more)
//	                          <-  CONNECTIONS, as often as there is need
//	RECEIVED                  ->
//	                              (gives its own worker ID back if none was free)
//	                          <-  COMMIT  lock and listener
//
// COMMIT decides. Until it is sent, the running daemon owns everything, and goes on if the newcomer
// is gone. Once it is sent, that daemon never touches again what it sent. Each issues from a worker
// ID of its own, so no ID depends on any of this. The newcomer uses nothing of what it got before.
//
// Each message is a length of 4 bytes (big-endian), a byte that is 0, and JSON. Descriptors come
// with the first bytes. A field that a version does not know is left out of account, so a field may
// come with any version if who takes over can do without it. What it cannot do without is another
// Protocol, which the first message of each side names.
package takeover

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/serve"
)

// Protocol is the version of the messages. Both sides have to speak the same.
const Protocol = 3

const (
	// suffix follows the path of the daemon's socket.
	suffix = ".takeover"
	// readyTimeout is how long a newcomer may take until it is ready, as it claims a worker ID.
	readyTimeout = 30 * time.Second
	// perMessage is how many connections one message has: the kernel takes at most 253 descriptors
	// (SCM_MAX_FD in include/net/scm.h).
	perMessage = 200
	// messageBytes is how much of what the connections have sent, and are still to get, one message
	// has, unless it has a single connection: as much as is read long before stillTimeout.
	messageBytes = 4 << 20
	// acceptPause is how long to wait after a newcomer that could not be accepted.
	acceptPause = time.Second
	// longest is the longest message that is believed, in bytes.
	longest = 1 << 30
)

// stillTimeout is how long one message may take while nobody issues. A newcomer that is stopped at
// that time is left out. Only tests change it.
var stillTimeout = 250 * time.Millisecond

// fitting has what do does with a socket's path. One that is too long for a socket is replaced by a
// short one, which Linux has for every open directory.
func fitting(path string, do func(path string) error) error {
	if len(path) < len(unix.RawSockaddrUnix{}.Path) {
		return do(path)
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close() // it was only looked at
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), filepath.Base(path)))
}

// Settings are what both sides must have in common.
type Settings struct {
	Layout string // with the datacenter
	Coord  string
	// Cluster is the UUID of the cluster, if that is known. Where it is the same, a coordinator may
	// be another one: the cluster was moved.
	Cluster string `json:",omitempty"`
	// Listen is the address on TCP: of the running daemon, which it has, and of the newcomer, which
	// it cannot open by itself.
	Listen string `json:",omitempty"`
}

// differs says what is not the same, empty if all is.
func (s Settings) differs(other Settings) string {
	switch {
	case s.Layout != other.Layout:
		return fmt.Sprintf("the running daemon's layout is %q, and the newcomer's %q", s.Layout, other.Layout)
	case s.Coord != other.Coord && other.Cluster == "":
		return fmt.Sprintf("the running daemon's coordinator is %s, and the newcomer's %s", s.Coord, other.Coord)
	case s.Coord != other.Coord && s.Cluster != other.Cluster:
		return fmt.Sprintf("the running daemon's coordinator is %s with cluster %s, and the newcomer's %s with cluster %s", s.Coord, s.Cluster, other.Coord, other.Cluster)
	case other.Listen != "" && s.Listen != other.Listen:
		return fmt.Sprintf("the newcomer's address %s is in use, and the running daemon's is %q", other.Listen, s.Listen)
	}
	return ""
}

// Running is what a newcomer needs to know of the running daemon before it claims a worker ID.
type Running struct {
	Time    lifecycle.Time
	Age     time.Duration // of the daemon, and of those that it took over from
	Cluster string        `json:",omitempty"` // that connections were opened to; empty: it is not known
}

// Commit is what decides.
type Commit struct {
	Connections int  // how many were handed over
	Kept        bool // the service manager has the socket as well, and it stays
	Stored      bool `json:",omitempty"` // a daemon has stored it there; without this, a socket unit may have made it
	Listen      bool `json:",omitempty"` // the listener on TCP comes as well
	// Time is what the connections that were handed over have come to.
	Time     lifecycle.Time `json:",omitzero"`
	Lock     *os.File       `json:"-"` // of the socket
	Listener *os.File       `json:"-"`
	Address  *os.File       `json:"-"` // that listener; nil: there is none
}

// RefusedError says that the running daemon goes on.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string {
	return "the running daemon does not let itself be taken over: " + e.Reason
}

// ErrBroken means that the other side is gone, or does not answer. Who asks again learns which.
var ErrBroken = errors.New("the conversation with the other daemon has ended")

// ErrNobody means that no daemon listens there.
var ErrNobody = errors.New("no daemon runs that could be taken over")

// message is any of them.
type message struct {
	Kind        kind
	Protocol    int                `json:",omitempty"`
	Version     string             `json:",omitempty"`
	Settings    *Settings          `json:",omitempty"`
	Running     *Running           `json:",omitempty"`
	Held        bool               `json:",omitempty"` // the newcomer has a worker ID
	Reason      string             `json:",omitempty"`
	Connections []serve.Connection `json:",omitempty"`
	Commit      *Commit            `json:",omitempty"`
}

type kind string

const (
	offer       kind = "OFFER"
	accept      kind = "ACCEPT"
	refuse      kind = "REFUSE"
	ready       kind = "READY"
	connections kind = "CONNECTIONS"
	received    kind = "RECEIVED"
	commit      kind = "COMMIT"
)

// headBytes is the length of what stands before a message.
const headBytes = 5

// link is one side's connection to the other.
type link struct{ *net.UnixConn }

// within has what do does with the link end when ctx does, or after the timeout.
func (l link) within(ctx context.Context, timeout time.Duration, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = l.SetDeadline(time.Unix(1, 0))
	})
	err := do()
	if !stop() {
		<-over
		_ = l.SetDeadline(time.Time{})
	}
	return err
}

// send sends a message with descriptors, within the timeout.
func (l link) send(ctx context.Context, m message, timeout time.Duration, descriptors ...int) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	data := binary.BigEndian.AppendUint32(make([]byte, 0, headBytes+len(body)), uint32(len(body)))
	data = append(append(data, 0), body...)
	var rights []byte
	if len(descriptors) > 0 {
		rights = unix.UnixRights(descriptors...)
	}
	err = l.within(ctx, timeout, func() error {
		n, _, err := l.WriteMsgUnix(data, rights, nil)
		if err == nil && n < len(data) {
			_, err = l.Write(data[n:])
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %s was not sent: %w", ErrBroken, m.Kind, err)
	}
	return nil
}

// receive receives a message of that kind within the timeout. A REFUSE is a *RefusedError.
func (l link) receive(ctx context.Context, want kind, timeout time.Duration) (m message, descriptors []int, err error) {
	err = l.within(ctx, timeout, func() error {
		m, descriptors, err = l.read()
		return err
	})
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %s was not received: %w", ErrBroken, want, err)
	case m.Kind == refuse:
		err = &RefusedError{m.Reason}
	case m.Kind != want:
		err = fmt.Errorf("%.20q came in the place of %s", m.Kind, want)
	}
	if err != nil {
		closeAll(descriptors)
		descriptors = nil
	}
	return m, descriptors, err
}

// read reads a message. The descriptors are there even after an error.
func (l link) read() (m message, descriptors []int, err error) {
	head, rights := make([]byte, headBytes), make([]byte, unix.CmsgSpace(4*253))
	n, rightsN, _, _, err := l.ReadMsgUnix(head, rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return m, nil, err
	}
	if descriptors, err = descriptorsOf(rights[:rightsN]); err != nil {
		return m, descriptors, err
	}
	if _, err = io.ReadFull(l, head[n:]); err != nil {
		return m, descriptors, err
	}
	length := binary.BigEndian.Uint32(head)
	if length > longest || head[4] != 0 {
		return m, descriptors, errors.New("it is no message")
	}
	body, err := io.ReadAll(io.LimitReader(l, int64(length)))
	if err == nil && len(body) < int(length) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	return m, descriptors, err
}

// descriptorsOf returns the descriptors that came with a message. No program that is started gets
// them: on Linux net receives them so.
func descriptorsOf(rights []byte) (descriptors []int, err error) {
	if len(rights) == 0 {
		return nil, nil
	}
	all, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		part, err := unix.ParseUnixRights(&m)
		if err != nil {
			return descriptors, err
		}
		descriptors = append(descriptors, part...)
	}
	return descriptors, nil
}

func closeAll(descriptors []int) {
	for _, fd := range descriptors {
		_ = unix.Close(fd)
	}
}

// filesOf returns the files that descriptors are of, which belong to the caller from then on.
func filesOf(descriptors []int) (files []*os.File) {
	for _, fd := range descriptors {
		files = append(files, os.NewFile(uintptr(fd), "handed over"))
	}
	return files
}
