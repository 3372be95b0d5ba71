package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/flakeward/flakeward/coord/internal/probe"
)

// quickly bounds the question why a request has failed at once: another server may serve the next.
const quickly = 500 * time.Millisecond

// protocol is HTTP/2, as gRPC begins it: the preface, and settings that have nothing in them. A
// server answers with its settings: a frame of type 4.
var protocol = probe.Protocol{
	Name:  "etcd",
	Hello: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
	Next:  []string{"h2"},
	Known: func(b []byte) bool { return len(b) >= 4 && b[3] == 4 },
}

const slow = "it answers, and finished no request in time: its disk hangs or is slow, or it is overloaded"

// unwell returns why no request is served, by all servers side by side. late says that the request
// was waited for; otherwise it is nil where one server is well.
func (s Servers) unwell(ctx context.Context, late bool) error {
	if len(s.Endpoints) == 0 { // it is in this process
		return nil
	}
	well := ""
	if late {
		well = slow
	}
	return probe.All(s.Endpoints, func(address string) error { return s.ask(ctx, address) }, well)
}

// ask asks one server over a connection of its own; nil: it serves. No user and no quorum is needed
// for the answer.
func (s Servers) ask(ctx context.Context, address string) error {
	config := s.Current.TLS(s.TLS)
	if _, err := protocol.Ask(ctx, probe.Server{Address: address, TLS: config}, false); err != nil {
		return err
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(transport(config)))
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is sent any more
	// A member without a leader refuses what asks for one before it looks at the user.
	found, err := etcdserverpb.NewMaintenanceClient(conn).Status(clientv3.WithRequireLeader(ctx), &etcdserverpb.StatusRequest{})
	switch err := rpctypes.Error(err); {
	case errors.Is(err, rpctypes.ErrNoLeader):
		return probe.Says(err, "it has no leader: most members of its cluster are stopped or cannot reach each other; bring them back")
	case status.Code(err) == codes.DeadlineExceeded:
		return probe.Says(err, slow) // so does a member whose disk hangs, in later versions
	case status.Code(err) == codes.Unimplemented:
		return probe.Says(err, "it speaks HTTP/2 and is not etcd: correct the port in --coord")
	case found.GetIsLearner():
		return errLearner
	}
	return nil // it may refuse who asks
}

// errNotVoting is what a learner answers to whatever asks for more than its state.
var errNotVoting = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)

// errLearner is of a member that serves nobody.
var errLearner = probe.Says(errNotVoting, "it is a learner, which serves no requests: promote it, or name a voting member in --coord")

func transport(config *tls.Config) credentials.TransportCredentials {
	if config == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(config)
}

// forAnother reports whether a server refused a request that another may serve: it took no part in
// it.
func forAnother(err error) bool {
	return errors.Is(err, errNotVoting) || errors.Is(err, rpctypes.ErrStopped) || errors.Is(err, rpctypes.ErrTooManyRequests)
}

// once makes a request. If there are several servers, a request that fails is repeated, and the
// library sends each repetition to the next server. That happens at once if a server cannot serve
// it and another may. If a server does not answer, as a member whose disk hangs, it happens after a
// third of the time that is left. All requests of this package can be repeated.
func (c *client) once(ctx context.Context, request func(context.Context) error) error {
	for more := len(c.servers.Endpoints) - 1; more > 0; more-- {
		try, cancel := context.WithTimeout(ctx, probe.Left(ctx)/3)
		err := request(try)
		silent := try.Err() != nil
		cancel()
		if err == nil || ctx.Err() != nil || !silent && !forAnother(err) {
			return err
		}
	}
	return request(ctx)
}

// why says why a request has failed at once, if that was the connection's; else it returns err.
func (c *client) why(ctx context.Context, err error) error {
	var answer rpctypes.EtcdError
	if errors.Is(err, errNotVoting) {
		return errLearner
	}
	if status.Code(err) != codes.Unavailable || errors.As(err, &answer) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, quickly)
	defer cancel()
	if why := c.servers.unwell(ctx, false); why != nil {
		return probe.Says(errors.Join(why, err), "%v", why)
	}
	return err
}
