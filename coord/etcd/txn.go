package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// kind says what a transaction is for, in errors and to tests.
type kind string

const (
	kindLook    kind = "look for the layout"
	kindJoin    kind = "read the layout"
	kindReplace kind = "replace the layout"
	kindHost    kind = "read the host's worker ID"
	kindHistory kind = "read a history"
	kindTicket  kind = "take a ticket"
	kindCreate  kind = "create a claim"
	kindList    kind = "list the claims"
	kindDelete  kind = "delete a claim"
)

// committer sends one transaction. All reads and writes of keys go through one,
// which is where tests lose requests and replies.
type committer func(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error)

func committerOf(kv clientv3.KV) committer {
	return func(ctx context.Context, _ kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
		return kv.Txn(ctx).If(cmps...).Then(then...).Else(otherwise...).Commit()
	}
}

// txn sends a transaction once. An error leaves open whether it took place.
func (s *store) txn(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	resp, restored, err := s.send(ctx, k, cmps, then, otherwise)
	if err == nil && restored != nil {
		err = fmt.Errorf("%s: %s: %w", s.Name(), k, restored)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// inCluster is txn in the tree of the cluster that has the layout record, and in no
// other: if that is another one, which it compares byte for byte, it does nothing and
// the error is *claims.MovedError. A tree that was made anew is another one, though
// its revisions start over and may be just those that cmps wants.
func (s *store) inCluster(ctx context.Context, layout claims.Entry, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	if s.past.restored() != nil {
		// Nothing more is written, but it may yet turn out to be another cluster.
		cmps, then, otherwise = nil, nil, nil
	}
	key := s.keys.layout()
	resp, restored, err := s.send(ctx, k,
		append([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", string(layout.Value))}, cmps...), then,
		append(slices.Clip(otherwise), clientv3.OpGet(key)))
	if err != nil {
		return nil, err
	}
	if !resp.Succeeded {
		if found := kvAt(resp, len(otherwise)); found == nil || !bytes.Equal(found.Value, layout.Value) {
			return nil, &claims.MovedError{Found: entry(found), Restored: restored}
		}
	}
	if restored != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.Name(), k, restored)
	}
	return resp, nil
}

// send sends a transaction once, and says whether its answer shows that the servers
// were restored, or an earlier one did.
func (s *store) send(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (resp *clientv3.TxnResponse, restored *coord.RestoredError, err error) {
	err = s.try(ctx, string(k), func(ctx context.Context) (err error) {
		before := s.past.revision()
		if resp, err = s.commit(ctx, k, cmps, then, otherwise); err == nil {
			err = complete(resp, then, otherwise)
		}
		if err == nil {
			restored = s.past.note(before, resp.Header)
		}
		return err
	})
	return resp, restored, err
}

// clock measures how long a request was waited for, which only its error tells.
var clock clockguard.System

// try bounds one request and says in its error what failed where.
func (s *store) try(ctx context.Context, what string, request func(context.Context) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %s: not tried: %w", s.Name(), what, ctx.Err())
	}
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	bounded, refused := watchTries(bounded)
	start := clock.Now().Mono
	err := request(bounded)
	if errors.Is(err, rpctypes.ErrNoSpace) && s.makeRoom != nil {
		// The answer leaves open whether the request took place; each of ours
		// can be made twice.
		if err = s.makeRoom(bounded); err == nil {
			err = request(bounded)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s: %s: %w", s.Name(), what, ctx.Err())
	case bounded.Err() != nil:
		waited := s.timeout
		if ctx.Err() != nil { // the caller's was shorter
			waited = time.Duration(clock.Now().Mono - start).Round(100 * time.Millisecond)
		}
		why := bounded.Err()
		var wrong *mistake
		if errors.As(*refused, &wrong) {
			return fmt.Errorf("%s: %s: %w (%w)", s.Name(), what, wrong, why)
		}
		if *refused != nil {
			why = fmt.Errorf("%w; the last try: %w", why, *refused)
		}
		return fmt.Errorf("%s: %s: no answer within %v; is it running, reachable and is --coord right? (%w)", s.Name(), what, waited, why)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("%s: %s: its space quota is used up; compact, defragment and disarm its alarm: %w", s.Name(), what, err)
	default:
		return fmt.Errorf("%s: %s: %w", s.Name(), what, s.refusal(err))
	}
}

// refusal says what an answer means that is about who asks, and is claims.ErrRefused;
// it returns other errors as they are. An operator can mend each at the servers, while
// daemons run.
func (s *store) refusal(err error) error {
	why := ""
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		why = fmt.Sprintf("there is no user %q, or the password is wrong", s.user)
	case errors.Is(err, rpctypes.ErrPermissionDenied) && s.user != "":
		why = fmt.Sprintf("the user %q may not read and write all keys that begin with %s; grant that to it", s.user, s.keys.root)
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		why = fmt.Sprintf("the user that the client certificate names may not read and write all keys that begin with %s; grant that to it", s.keys.root)
	case errors.Is(err, rpctypes.ErrUserEmpty) && s.user != "", errors.Is(err, rpctypes.ErrInvalidAuthToken) && s.user != "":
		why = fmt.Sprintf("what the user %q was given for the password is no longer known, and asking anew did not help", s.user)
	case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrInvalidAuthToken):
		why = "it knows only users: give --coord-user and --coord-password-file, or a client certificate whose common name is a user"
	default:
		return err
	}
	return fmt.Errorf("%w: %s (%w)", claims.ErrRefused, why, err)
}

// complete is an error if an answer lacks what its transaction asked for. No etcd answers so; what
// stands between may.
func complete(resp *clientv3.TxnResponse, then, otherwise []clientv3.Op) error {
	asked := otherwise
	if resp.Succeeded {
		asked = then
	}
	if resp.Header == nil || len(resp.Responses) != len(asked) {
		return fmt.Errorf("the answer is not etcd's: it tells of %d operations, and %d were asked for; does --coord name etcd's own servers?", len(resp.Responses), len(asked))
	}
	return nil
}

// kvAt returns the only key that the i-th operation of a transaction read, or nil.
func kvAt(resp *clientv3.TxnResponse, i int) *mvccpb.KeyValue {
	if kvs := kvsAt(resp, i); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// kvsAt returns the keys that the i-th operation of a transaction read.
func kvsAt(resp *clientv3.TxnResponse, i int) []*mvccpb.KeyValue {
	if i >= len(resp.Responses) {
		return nil
	}
	return resp.Responses[i].GetResponseRange().GetKvs()
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
}
