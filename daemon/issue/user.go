package issue

import (
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/queue"
)

// UserOf is whose share of the IDs the requests of a connection get that came by the daemon's socket
// of that number, below 256.
func UserOf(who peercred.Credentials, socket uint32) queue.User {
	switch {
	case !who.Known:
		return queue.User{UID: queue.Nobody, Socket: socket}
	case who.Pod != 0:
		return queue.User{UID: who.UID, Socket: who.Pod}
	}
	return queue.User{UID: who.UID, Socket: socket}
}
