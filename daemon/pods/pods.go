// Package pods gives applications on a host a socket each, so that the daemon knows who asks:
//
//	DIR/<id>/user                   who asks: namespace/pod
//	DIR/<id>/socket/                what the application gets to see
//	DIR/<id>/socket/flakeward.sock  made here, for everybody who sees it
//
// Somebody else makes and removes the directories. A socket comes and goes with its directory. What
// is on the disk decides: an event of inotify only says where to look, and a scan now and then finds
// what no event told. A socket is known by the inode of its file, which nobody else gets while the
// socket is open. So a directory that was removed and made anew at once is another one.
//
// Nothing that is found in DIR is followed or waited for.
package pods

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/peercred"
)

const (
	// scanEvery is how often DIR is looked through, whatever the events say.
	scanEvery = 5 * time.Second
	// scanSoon is after how long it is looked through again if something is not as it should be. The
	// time doubles each time, up to scanEvery.
	scanSoon = 100 * time.Millisecond
)

// Server accepts from the sockets.
type Server interface {
	Open(l net.Listener, pod *peercred.Pod) // until Shut, or the server's end; closes l
	Shut(pod *peercred.Pod)                 // closes l and the pod's connections
}

// Config is what Pods need.
type Config struct {
	Dir    string
	Most   int // sockets at once
	Server Server
	Gone   func(number uint32) // the last socket of the user with that number has gone; may be nil
	Clock  clockguard.Clock
	Log    hclog.Logger
}

// Pods are the sockets of a directory. Nil is none, of which Run does nothing. Run, Adopt, HandOver
// and Keep are for one goroutine at a time.
type Pods struct {
	config  Config
	refused *refusals
	full    bool          // a directory has no socket as there are too many
	unread  string        // why DIR could not be read, as was said
	soon    time.Duration // when to scan again; 0: at the usual time,
	usual   time.Duration // scanEvery, unless a test says otherwise

	mu    sync.Mutex
	open  map[string]*open // by directory
	users users
}

// open is a socket.
type open struct {
	pod      *peercred.Pod
	listener *listener
}

// id is what a directory's name has to be. Others are left alone.
var id = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// New touches nothing yet.
func New(c Config) *Pods {
	if dir, err := filepath.Abs(c.Dir); err == nil {
		c.Dir = dir
	}
	return &Pods{config: c, refused: newRefusals(c), usual: scanEvery, open: make(map[string]*open), users: newUsers()}
}

// Run opens and closes sockets as directories come and go, until ctx ends. The sockets then stay open.
func (p *Pods) Run(ctx context.Context) {
	if p == nil {
		return
	}
	defer p.refused.log.Close()
	w, err := newWatcher(ctx)
	if err != nil {
		p.config.Log.Warn("directories of pods are not watched, and found within five seconds only", "code", "pod-sockets-not-watched", "error", err)
	}
	defer w.close()
	p.prepare()
	for ctx.Err() == nil {
		w.watch(p.config.Dir)
		p.scan()
		after := p.usual
		if p.soon > 0 {
			after = p.soon
		}
		p.await(ctx, w, after)
	}
}

// await does what events say until it is time to scan.
func (p *Pods) await(ctx context.Context, w *watcher, after time.Duration) {
	scan, cancel := clockguard.WithTimeout(ctx, p.config.Clock, after)
	defer cancel()
	for {
		select {
		case <-scan.Done():
			return
		case told := <-w.told():
			if told.lost {
				return
			}
			for name, made := range told.names {
				if id.MatchString(name) {
					p.look(name, made)
				}
			}
			if p.soon > 0 && p.soon < after {
				after = p.soon
				scan, cancel = clockguard.WithTimeout(scan, p.config.Clock, after)
				defer cancel()
			}
		}
	}
}

// scan looks at all directories.
func (p *Pods) scan() {
	names, err := list(p.config.Dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		p.soon = 0
		if p.unread == err.Error() {
			return
		}
		p.unread = err.Error()
		p.config.Log.Error("the directory of pods' sockets cannot be read; trying on", "code", "pod-sockets-unreadable", "directory", p.config.Dir, "error", err)
		return // those that are open stay
	}
	p.unread = ""
	before := p.soon
	p.soon, p.full = 0, false
	there := make(map[string]struct{}, len(names))
	for _, name := range names {
		if id.MatchString(name) {
			there[name] = struct{}{}
		}
	}
	for name := range p.open { // first, as that makes room
		if p.look(name, false); p.open[name] == nil {
			delete(there, name) // until the next scan
		}
	}
	for name := range there {
		if p.open[name] == nil {
			p.enter(name)
		}
	}
	p.refused.keep(there)
	if missing {
		p.again() // nothing tells when it comes
	}
	if p.soon > 0 && before > 0 {
		p.soon = min(2*before, p.usual)
	}
}

// look looks at one directory, which may have been made anew.
func (p *Pods) look(name string, made bool) {
	if o := p.open[name]; o != nil {
		if o.listener.there() {
			return
		}
		p.shut(name)
		if !made {
			// Who removes it may be at it: a new socket would be in the way.
			p.again()
			return
		}
	}
	if made {
		p.enter(name)
	}
}

// again has the next scan come soon.
func (p *Pods) again() { p.soon = scanSoon }

// enter opens a directory's socket, if it is as it should be.
func (p *Pods) enter(name string) {
	if len(p.open) >= p.config.Most {
		p.full = true
		p.refused.add(name, &RefusedError{CodeFull, "there are as many sockets of pods as there may be"})
		return
	}
	user, l, err := openIn(p.config.Dir, name)
	switch {
	case err != nil:
		if p.refused.add(name, err) {
			p.again()
		}
		return
	case l == nil: // the directory has gone
		p.refused.remove(name)
		return
	}
	p.refused.remove(name)
	p.add(name, user, l)
}

// add serves a socket.
func (p *Pods) add(name, user string, l *listener) {
	p.mu.Lock()
	o := &open{&peercred.Pod{Directory: name, User: user, Number: p.users.come(user)}, l}
	p.open[name] = o
	p.mu.Unlock()
	p.config.Log.Debug("a pod has a socket", "directory", name, "user", user)
	p.config.Server.Open(l, o.pod)
}

// shut ends a socket and its connections.
func (p *Pods) shut(name string) {
	o := p.open[name]
	p.config.Server.Shut(o.pod)
	p.config.Log.Debug("a pod's socket is closed, as its directory has gone", "directory", name, "user", o.pod.User)
	p.mu.Lock()
	delete(p.open, name)
	last := p.users.leave(o.pod)
	p.mu.Unlock()
	if last && p.config.Gone != nil {
		p.config.Gone(o.pod.Number)
	}
	if p.full {
		p.again()
	}
}

// Find returns the pod whose socket is in the directory of that name; nil: there is none.
func (p *Pods) Find(name string) *peercred.Pod {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.open[name]; o != nil {
		return o.pod
	}
	return nil
}

// User is the user with that number; empty: it has gone. It may be called at any time, as may Counts.
func (p *Pods) User(number uint32) string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.users.names[number]
}

// Number is the number of the user with that name; 0: it has no socket. It may be called at any time.
func (p *Pods) Number(user string) uint32 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.users.numbers[user]
}

// Counts is how many sockets are open, and how many directories have none.
func (p *Pods) Counts() (served, refused int) {
	if p == nil {
		return 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open), p.refused.len()
}
