package zkserver

import (
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	clientSession = 6 * time.Second // a ping each 2 s, so below silence
	// silence is how long a client waits for a server that says nothing.
	silence = 3 * time.Second
)

// Connect opens a session with the servers at the addresses, for looking at the tree
// and changing it. The session does not need to be there yet when it returns.
func Connect(addresses []string) (*zk.Conn, error) {
	c, _, err := zk.Connect(addresses, clientSession, zk.WithLogger(mute{}), zk.WithDialer(dial))
	return c, err
}

// CatchUp makes what conn reads next at least as new as all that any client was answered before.
// It is a write that changes nothing: a leader answers ZooKeeper's own sync before it has applied
// all that it has committed, and so shows an old value now and then (see coord/zk, sync).
func CatchUp(conn *zk.Conn) error {
	_, err := conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
	return err
}

func dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	return hasty{conn}, err
}

// hasty is a connection that waits no longer than silence. The library gives a server
// that takes a connection and then nothing, as a paused one does, more than a minute.
type hasty struct{ net.Conn }

func (h hasty) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(silence); t.After(latest) {
		t = latest
	}
	return h.Conn.SetReadDeadline(t)
}

type mute struct{}

func (mute) Printf(string, ...any) {}
