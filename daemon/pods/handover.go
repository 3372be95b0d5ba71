package pods

import (
	"os"

	"github.com/flakeward/flakeward/daemon/peercred"
)

// Socket is one as a process hands it to another.
type Socket struct {
	Directory string
	User      string
	Device    uint64   // of the socket's file,
	Inode     uint64   // as is this
	File      *os.File `json:"-"` // the listening socket
}

// HandOver returns all sockets. The caller closes their files. Run must not be under way.
func (p *Pods) HandOver() (all []Socket, err error) {
	if p == nil {
		return nil, nil
	}
	for name, o := range p.open {
		f, err := o.listener.File()
		if err != nil {
			for _, s := range all {
				_ = s.File.Close()
			}
			return nil, err
		}
		all = append(all, Socket{Directory: name, User: o.pod.User, Device: o.listener.device, Inode: o.listener.inode, File: f})
	}
	return all, nil
}

// Keep says that another process has all sockets: their files stay when they are closed.
func (p *Pods) Keep() {
	if p == nil {
		return
	}
	for _, o := range p.open {
		o.listener.kept.Store(true)
	}
}

// Adopt goes on with sockets of another process, and closes their files. Directories that have gone
// meanwhile are Run's affair. Nil closes them.
func (p *Pods) Adopt(all []Socket) {
	for _, s := range all {
		if p != nil && id.MatchString(s.Directory) && p.open[s.Directory] == nil {
			if l, err := adopt(p.config.Dir, s); err == nil {
				p.add(s.Directory, s.User, l)
			} else {
				p.config.Log.Warn("a pod's socket that was handed over is made anew", "directory", s.Directory, "error", err)
			}
		}
		_ = s.File.Close()
	}
}

// Of is the pod of this process for one of another's; nil: it has no socket here.
func (p *Pods) Of(other *peercred.Pod) *peercred.Pod {
	pod := p.Find(other.Directory)
	if pod == nil || pod.User != other.User {
		return nil
	}
	return pod
}
