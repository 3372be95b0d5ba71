package issue

import (
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/queue"
)

// UserOf is whose share of the IDs the requests of a connection get.
func UserOf(who peercred.Credentials) queue.User {
	switch {
	case !who.Known:
		return queue.User{UID: queue.Nobody, Address: who.Address}
	case who.Pod != 0:
		return queue.User{UID: who.UID, Socket: who.Pod}
	}
	return queue.User{UID: who.UID}
}
