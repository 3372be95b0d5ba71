package etcd

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/internal/mutex"
)

// The pauses between logins, each of which costs the servers some 60 ms of a processor. A token
// that the servers refuse at once, as one of members whose clocks differ, is asked for twice a
// second at most. Where they refuse user and password, the pause is longer, unless another password
// was read.
const (
	betweenLogins = 500 * time.Millisecond
	afterRefusal  = 5 * time.Second
)

// mostTokens is how many tokens a request is sent with: of three members, two may not know the
// newest yet.
const mostTokens = 4

// login exchanges user and password for a token, and sends it with each request. Tokens end: by
// their time, with the server that gave them, or when users and roles are changed. A request that
// is refused for its token has not been carried out; it is sent once more with another one.
//
// The client library, which is given no user, would send the token with the login itself. Etcd 3.4
// refuses that once the token has ended, and the library then logs in from within that login,
// without an end. It would also log in for each stream that is opened, however often it was
// refused.
type login struct {
	servers Servers
	auth    clientv3.Auth // set before the first request
	current atomic.Pointer[token]

	asking  mutex.Mutex     // held while the servers are asked
	next    clockguard.Mono // when they may be asked again
	tried   string          // the password of the last login
	refused error           // how they refused that; nil: they did not
}

// token is what was given for user and password; empty while the servers know no users.
type token struct{ text string }

// newLogin returns nil without a user: all methods of that do nothing.
func newLogin(servers Servers) *login {
	if servers.User == "" {
		return nil
	}
	return &login{servers: servers, asking: mutex.New()}
}

// with returns a context whose requests have the token.
func (t *token) with(ctx context.Context) context.Context {
	if t.text == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, t.text)
}

// options has requests sent with the token.
func (l *login) options() []grpc.DialOption {
	if l == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(l.send)}
}

// send is called for each try of a request.
func (l *login) send(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method == etcdserverpb.Auth_Authenticate_FullMethodName {
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	return l.with(ctx, func(ctx context.Context) error { return invoke(ctx, method, req, reply, conn, opts...) })
}

// with makes a request with the token.
func (l *login) with(ctx context.Context, request func(context.Context) error) error {
	if l == nil {
		return request(ctx)
	}
	var err error
	for range mostTokens {
		sent := l.current.Load()
		if sent != nil {
			if err = request(sent.with(ctx)); !ended(err) {
				return err
			}
		}
		if refused := l.anew(ctx, sent); refused != nil {
			return refused
		}
	}
	return &badToken{rpctypes.Error(err)}
}

// badToken is of a request that the servers have refused with one new token after the other. The
// library would send it on and on, if it saw why.
type badToken struct{ err error }

func (e *badToken) Error() string { return "for each of several new tokens: " + e.err.Error() }
func (e *badToken) Unwrap() error { return e.err }

// ended reports whether the answer is that a token, or that there is none, is not good any more.
func ended(err error) bool {
	if err == nil {
		return false
	}
	err = rpctypes.Error(err)
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrAuthOldRevision) || errors.Is(err, rpctypes.ErrUserEmpty)
}

// anew logs in, unless another request has done so since sent was the token.
func (l *login) anew(ctx context.Context, sent *token) error {
	if err := l.asking.LockContext(ctx); err != nil {
		return err
	}
	defer l.asking.Unlock()
	if l.current.Load() != sent {
		return nil
	}
	password := l.servers.Current.Password(l.servers.Password)
	wait := time.Duration(l.next - clock.Now().Mono)
	switch again := l.tried == password; {
	case l.refused != nil && again && wait > 0:
		return l.refused
	case l.refused == nil || again:
		pause(ctx, wait)
	}
	answer, err := l.auth.Authenticate(ctx, l.servers.User, password)
	l.next, l.tried, l.refused = clock.Now().Mono+clockguard.Mono(betweenLogins), password, nil
	switch {
	case err == nil:
		l.current.Store(&token{answer.Token})
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		err = nil
		l.current.Store(&token{})
	case errors.Is(err, rpctypes.ErrAuthFailed):
		l.next, l.refused = clock.Now().Mono+clockguard.Mono(afterRefusal), err
	}
	return err
}
