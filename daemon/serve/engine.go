package serve

import (
	"net"
	"time"
)

// engine answers the connections it is given. Only wait and disconnect block.
type engine interface {
	add(c net.Conn, id int64) error // takes c over; on an error too
	wake()                          // tries again what waits for a change
	disconnect()                    // closes the connections that were answered something; returns once nothing more is sent to them
	drain()                         // answers what has been received, then closes each connection; none is added after it
	stop()                          // closes everything; none is added after it
	wait()                          // until drain or stop is through and all that the engine started has ended
}

const (
	readAtOnce = 64 << 10
	// keptBuffer is the largest buffer that an idle connection keeps.
	keptBuffer = 4 << 10
	// vagueWait is how soon a request is tried again whose source does not say when.
	vagueWait = time.Millisecond
)
