package etcd

import (
	"context"
	"errors"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	if config.ServerName != "" {
		// gRPC overrides the configuration's name with the host of the endpoint.
		authority = config.ServerName
	}
	conn, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, raw)
	if err != nil {
		err = secure.Handshake(err)
		s.mistakes.note(server, err)
		return nil, nil, err
	}
	return &firstRead{Conn: secure.Conn(conn), note: func(err error) { s.mistakes.note(server, err) }}, info, nil
}

// firstRead tells how the first read of a connection ended: a server that refuses the
// client's certificate answers so after the handshake.
type firstRead struct {
	net.Conn
	once sync.Once
	note func(error)
}

func (c *firstRead) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.once.Do(func() { c.note(err) })
	return n, err
}

// mistakes are those that keep servers from being spoken to. The error of a
// request does not always have them: gRPC reports whatever failed first, and, of many
// servers, the last one's failure. So each is logged, once, and kept for the errors
// until the server answers.
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

// mistake is why requests have no connection: what must be set right.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

// all returns all that are known as one, or nil.
func (m *mistakes) all() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, server := range slices.Sorted(maps.Keys(m.last)) {
		all = append(all, server+": "+m.last[server])
	}
	if len(all) == 0 {
		return nil
	}
	return &mistake{strings.Join(all, "; ")}
}

// What is left out of gRPC's reasons: addresses change from try to try, for there
// are several servers and each connection has its own port, and what is told once
// must be the same text each time.
var (
	described = regexp.MustCompile(`^connection error: desc = (".*")$`)
	phase     = regexp.MustCompile(`^(transport: )?(Error while dialing: |authentication handshake failed: )*`)
	addresses = regexp.MustCompile(`\b(dial|read|write) (tcp|unix) \S+: `)
)

// reason returns the heart of gRPC's text of why there is no connection.
func reason(text string) string {
	if m := described.FindStringSubmatch(text); m != nil {
		if inner, err := strconv.Unquote(m[1]); err == nil {
			text = inner
		}
	}
	text = strings.TrimPrefix(text, phase.FindString(text))
	return addresses.ReplaceAllString(text, "")
}

// unencrypted says what a reason may mean if no TLS was asked for: a server that waits
// for a handshake ends the connection at once.
func unencrypted(reason string) error {
	if strings.Contains(reason, "server preface") || strings.Contains(reason, "broken pipe") {
		return &mistake{"it ended the connection at once: it may expect TLS; give --coord-tls, with --coord-ca if its authority is not one of the system's"}
	}
	return errors.New(reason)
}
