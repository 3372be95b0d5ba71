package issue

import (
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/queue"
)

// podSockets is added to the number of a pod's user, so that it is none of the daemon's own sockets.
const podSockets = 1 << 8

// UserOf is whose share of the IDs the requests of a connection get that came by the daemon's socket
// of that number, below 256, or by a pod's.
func UserOf(who peercred.Credentials, socket uint32) queue.User {
	switch {
	case who.Pod != nil:
		return PodUser(who.Pod.Number)
	case !who.Known:
		return queue.User{UID: queue.Nobody, Socket: socket}
	}
	return queue.User{UID: who.UID, Socket: socket}
}

// PodUser is the user of pods with that number. It has no UID, and so the rate of every user.
func PodUser(number uint32) queue.User {
	return queue.User{UID: queue.Nobody, Socket: podSockets + number}
}

// PodOf is the number of the pod's user that u is; 0: it is none.
func PodOf(u queue.User) uint32 {
	if u.UID != queue.Nobody || u.Socket <= podSockets {
		return 0
	}
	return u.Socket - podSockets
}
