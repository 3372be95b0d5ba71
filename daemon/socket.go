package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/daemon/systemd"
)

// socketEvery is how often the socket's file is looked at. Without it nobody new can connect.
const socketEvery = 5 * time.Second

// listen makes the socket, or takes over the one that systemd has, and says who cannot come to it.
// One that it makes is stored with systemd, if it can be.
func listen(lock *socketfile.Lock, s Socket, service *systemd.Service, log hclog.Logger) (*socketfile.Listener, error) {
	group, err := groupID(s.Group)
	if err != nil {
		return nil, err
	}
	kept, origin, err := service.Listener(s.Path)
	if err != nil {
		return nil, err
	}
	var l *socketfile.Listener
	if origin == systemd.None {
		l, err = lock.Listen(s.Mode, group)
	} else {
		l, err = lock.Adopt(kept, s.Mode, group)
	}
	if err != nil {
		return nil, err
	}
	switch origin {
	case systemd.None:
		store(l, service, log)
	case systemd.Unit:
		l.Keep()
		l.Foreign()
	case systemd.Stored:
		l.Keep()
		if err := l.SetAccess(); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	// The mode's default lets a group in that nobody may have asked for.
	if dir := socketfile.KeepsOut(s.Path, s.Mode, group); dir != "" && (group >= 0 || s.Mode&0o002 != 0) {
		log.Warn("the socket's directory does not let in all whom the socket's mode does", "directory", dir, "mode", s.Mode, "socket", s.Path)
	}
	return l, nil
}

// store has systemd keep the socket for the next start, if it keeps any.
func store(l *socketfile.Listener, service *systemd.Service, log hclog.Logger) {
	if !service.Stores() {
		return
	}
	if err := service.Store(l); err != nil {
		log.Warn("systemd does not keep the socket: who connects while the daemon restarts is refused", "error", err)
		return
	}
	l.Keep()
}

// keepSocket makes the socket's file at path again when it is gone, until ctx ends, and calls made
// then.
func keepSocket(ctx context.Context, clock clockguard.Clock, file *socketfile.Listener, path string, made func(), log hclog.Logger) {
	said := ""
	for clock.Sleep(ctx, socketEvery) == nil {
		again, err := file.Restore()
		if again {
			log.Warn("the socket's file was gone and has been made again", "socket", path)
			made()
		}
		if err == nil {
			said = ""
			continue
		}
		if err.Error() == said {
			continue
		}
		said = err.Error()
		var replaced *socketfile.ReplacedError
		if errors.As(err, &replaced) {
			log.Error("another file has taken the place of the socket's: nobody new reaches this daemon", "socket", path)
		} else {
			log.Error("the socket's file is gone and cannot be made again; retrying", "error", err)
		}
	}
}
