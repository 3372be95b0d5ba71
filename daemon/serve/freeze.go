package serve

import (
	"errors"

	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/resp"
)

// Connection is an open connection as one process hands it to another.
type Connection struct {
	FD      int `json:"-"` // whose it is does not change
	ID      int64
	Peer    peercred.Credentials
	In      []byte `json:",omitempty"` // received and not answered
	Out     []byte `json:",omitempty"` // replies that the client has not taken
	Closing bool   `json:",omitempty"` // it ends once they are
	Told    bool   `json:",omitempty"` // that it speaks RESP
	Session resp.Saved
}

// Frozen is a server that accepts nobody and answers nothing until Resume or Leave is called.
type Frozen struct {
	Connections []Connection
	server      *Server
	over        chan<- bool // gets whether the engine ends
}

// ErrNotFrozen means that the server could not be frozen, and goes on.
var ErrNotFrozen = errors.New("the server cannot hand its connections over")

// Freeze has the server stand still, with nothing half done.
func (s *Server) Freeze() (*Frozen, error) {
	e := s.engine.Load()
	if e == nil || !s.doors.shut() {
		return nil, ErrNotFrozen
	}
	connections, over, err := (*e).freeze()
	if err != nil {
		s.doors.open()
		return nil, err
	}
	return &Frozen{connections, s, over}, nil
}

// Resume has the server go on.
func (f *Frozen) Resume() {
	f.over <- false
	f.server.doors.open()
}

// Leave has Serve end, with nil: another process has the connections and the listeners.
func (f *Frozen) Leave() {
	close(f.server.left)
	f.over <- true
}

// Adopt has the next Serve go on with connections of another process, whose FDs are the server's
// from now on. It is called before Serve.
func (s *Server) Adopt(connections []Connection) { s.adopted = connections }
