package daemon

import (
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/pods"
	"github.com/flakeward/flakeward/daemon/serve"
)

// newPods makes the sockets of pods that the daemon's server serves; nil if there are to be none.
func newPods(d *Daemon) *pods.Pods {
	if d.config.Socket.Pods == "" {
		return nil
	}
	return pods.New(pods.Config{
		Dir: d.config.Socket.Pods, Most: d.access.podSockets(), Server: d.server, Clock: d.clock, Log: d.log.Named("pods"),
		Gone: func(number uint32) {
			if d.limited != nil {
				d.limited.Forget(issue.PodUser(number))
			}
		},
	})
}

// adopt goes on with the sockets of pods that were handed over, and with what was left of the rates,
// which needs the numbers of the pods' users in this process. It returns the connections to go on
// with: a pod's without its socket is closed.
func (p *predecessor) adopt(d *Daemon) (connections []serve.Connection) {
	d.pods.Adopt(p.open.Sockets)
	d.limited.Resume(p.rates(), d.pods.Number)
	for _, c := range p.open.Connections {
		if pod := c.Peer.Pod; pod != nil {
			if c.Peer.Pod = d.pods.Of(pod); c.Peer.Pod == nil {
				_ = unix.Close(c.FD)
				continue
			}
		}
		connections = append(connections, c)
	}
	return connections
}
