//go:build unix

// Package systemd speaks with the service manager that has started the daemon: it says when the
// daemon is ready, how it is and that it ends, feeds the watchdog, takes over the socket that
// systemd listens on, and leaves one there for the next start. The protocol is that of
// sd_notify(3), sd_listen_fds(3) and sd_pid_notify_with_fds(3).
package systemd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	notify "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

const (
	// storeName is the name of the daemon's own socket in the descriptor store.
	storeName = "flakeward-listener"
	// feeds is how many times the watchdog is fed before it would fire: one may be lost.
	feeds = 3
	// sendTimeout bounds how long a message waits for room in systemd's queue.
	sendTimeout = time.Second
)

// Service is what systemd has asked of this process. A nil *Service, as where systemd has not
// started it, asks for nothing, and all its methods do nothing. They may be called from any
// goroutine, except for Listener, which is called once.
type Service struct {
	manager  *net.UnixConn // nil: it wants no messages
	watchdog time.Duration
	store    bool // there is a descriptor store
	sockets  []*os.File
	passed   []string // variables for who goes on in this process's place

	held   atomic.Bool // messages are kept back
	mu     sync.Mutex
	ready  bool   // was kept back
	status string // the last one
}

// FromEnvironment reads what systemd has put into the environment, and takes it out, so that no
// other process takes it for its own. It returns nil if there is nothing.
func FromEnvironment() (*Service, error) {
	s := &Service{sockets: activation.Files(true)}
	var err error
	if s.watchdog, err = notify.SdWatchdogEnabled(true); err != nil {
		return nil, fmt.Errorf("systemd's watchdog: %w", err)
	}
	path, store := os.Getenv("NOTIFY_SOCKET"), os.Getenv("FDSTORE")
	if err := errors.Join(os.Unsetenv("NOTIFY_SOCKET"), os.Unsetenv("FDSTORE")); err != nil {
		return nil, err
	}
	if path != "" {
		if s.manager, err = net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"}); err != nil {
			return nil, fmt.Errorf("systemd cannot be told how the daemon is ($NOTIFY_SOCKET): %w", err)
		}
		slots, err := strconv.Atoi(cmp.Or(store, "0"))
		s.store = err == nil && slots > 0
		s.passed = []string{"NOTIFY_SOCKET=" + path, "FDSTORE=" + store, fmt.Sprintf("WATCHDOG_USEC=%d", s.watchdog.Microseconds())}
	}
	if s.manager == nil && len(s.sockets) == 0 {
		return nil, nil
	}
	return s, nil
}

// Close ends the conversation. What systemd keeps, it keeps.
func (s *Service) Close() error {
	if s == nil {
		return nil
	}
	for _, f := range s.sockets {
		_ = f.Close()
	}
	if s.manager == nil {
		return nil
	}
	return s.manager.Close()
}

// Ready says that the daemon serves, also after Reloading.
func (s *Service) Ready() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready = s.held.Load(); !s.ready {
		_ = s.say(notify.SdNotifyReady, nil)
	}
}

// Status shows a line in `systemctl status`.
func (s *Service) Status(text string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = strings.ReplaceAll(text, "\n", "; ")
	s.show()
}

// show says the status. The caller holds the lock.
func (s *Service) show() {
	if s.status != "" && !s.held.Load() {
		_ = s.say("STATUS="+s.status, nil)
	}
}

// HoldUntil keeps back what Ready, Status and Feed say until over is closed: systemd listens to the
// main process alone, which another one still is.
func (s *Service) HoldUntil(over <-chan struct{}) {
	if s == nil {
		return
	}
	s.held.Store(true)
	go func() {
		<-over
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held.Store(false)
		s.show()
		if s.ready {
			_ = s.say(notify.SdNotifyReady, nil)
		}
	}()
}

// Started is a program that may go on in this process's place.
type Started struct {
	Ended <-chan struct{} // closed once it has ended
	Stop  func()          // tells it to end
}

// Successor says which process goes on in this one's place. systemd watches over that one from then
// on, and listens to it alone.
func (s *Service) Successor(pid int) {
	if pid > 0 {
		_ = s.say(fmt.Sprintf("MAINPID=%d", pid), nil)
	}
}

// Reloading says that settings are read again, until Ready is called.
func (s *Service) Reloading() {
	_ = s.say(notify.SdNotifyReloading+"\n"+notify.SdNotifyMonotonicUsec(), nil)
}

// Stopping says that the daemon ends.
func (s *Service) Stopping() { _ = s.say(notify.SdNotifyStopping, nil) }

// FeedEvery is how often Feed is to be called; 0: never.
func (s *Service) FeedEvery() time.Duration {
	if s == nil || s.manager == nil {
		return 0
	}
	return s.watchdog / feeds
}

// Feed says that its caller is alive. It never waits; systemd may miss a call.
func (s *Service) Feed() {
	if s != nil && s.manager != nil && !s.held.Load() {
		_ = s.send(notify.SdNotifyWatchdog, nil, 0)
	}
}

// Stores reports whether Store can keep a socket.
func (s *Service) Stores() bool { return s != nil && s.store }

// Store has systemd keep the listening socket until the service has stopped for good. The next
// start gets it from Listener, and who connects until then waits. It replaces what was stored.
func (s *Service) Store(socket syscall.Conn) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	if err := s.say("FDSTOREREMOVE=1\nFDNAME="+storeName, nil); err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) {
		sent = s.say("FDSTORE=1\nFDNAME="+storeName, unix.UnixRights(int(fd)))
	})
	return errors.Join(err, sent)
}

// say sends a message, and waits a moment where systemd's queue is full.
func (s *Service) say(message string, rights []byte) error {
	if s == nil || s.manager == nil {
		return nil
	}
	return s.send(message, rights, sendTimeout)
}

// send sends a message once there is room for it, within the timeout.
func (s *Service) send(message string, rights []byte, sendTimeout time.Duration) error {
	raw, err := s.manager.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) {
		sent = unix.Sendmsg(int(fd), []byte(message), rights, nil, unix.MSG_DONTWAIT)
		if sendTimeout == 0 || !errors.Is(sent, unix.EAGAIN) && !errors.Is(sent, unix.ENOBUFS) {
			return
		}
		room := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		_, _ = unix.Poll(room, int(sendTimeout.Milliseconds()))
		sent = unix.Sendmsg(int(fd), []byte(message), rights, nil, unix.MSG_DONTWAIT)
	})
	return errors.Join(err, sent)
}
