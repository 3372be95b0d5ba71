package etcd

import (
	"context"
	"net"
	"sync"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/credentials"

	"github.com/flakeward/flakeward/coord/secure"
)

// secured says in words why a TLS connection fails.
type secured struct {
	credentials.TransportCredentials
	servers  Servers
	mistakes *mistakes
}

func newSecured(servers Servers, m *mistakes) secured {
	return secured{credentials.NewTLS(servers.TLS), servers, m}
}

// Clone implements credentials.TransportCredentials.
func (s secured) Clone() credentials.TransportCredentials {
	return secured{s.TransportCredentials.Clone(), s.servers, s.mistakes}
}

// ClientHandshake implements credentials.TransportCredentials.
func (s secured) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	server := raw.RemoteAddr().String()
	config := s.servers.Current.TLS(s.servers.TLS)
	conn, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, raw)
	if err != nil {
		err = secure.Handshake(err)
		s.mistakes.note(server, err)
		return nil, nil, err
	}
	s.mistakes.note(server, nil)
	return conn, info, nil
}

// mistakes are those that keep servers from being spoken to. While other servers serve, no request
// has them for an error. So each is logged, once, until a handshake with the server succeeds.
type mistakes struct {
	log  hclog.Logger
	mu   sync.Mutex
	last map[string]string // by server
}

func newMistakes(log hclog.Logger) *mistakes { return &mistakes{log: log, last: map[string]string{}} }

// note takes how a connection began. What is no mistake changes nothing.
func (m *mistakes) note(server string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		delete(m.last, server)
	case secure.Mistake(err) && m.last[server] != err.Error():
		m.last[server] = err.Error()
		m.log.Warn("cannot connect to a coordinator server; retrying", "server", server, "reason", err)
	}
}
