package etcd

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// refusedEarly is a library whose first renewal has met the end of its stream as it was sent.
type refusedEarly struct {
	clientv3.Lease
	asked int
}

func (r *refusedEarly) KeepAliveOnce(context.Context, clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	if r.asked++; r.asked == 1 {
		return nil, io.EOF
	}
	return nil, rpctypes.ErrInvalidAuthToken
}

// Why a renewal was refused is known also if that was before it was sent: a token that has ended
// takes a login, and the log tells the reason.
func TestWhyARenewalWasRefused(t *testing.T) {
	library := &clientv3.Client{Lease: &refusedEarly{}}
	s := &sessions{client: &client{name: "etcd", library: library}, ttl: 10 * time.Second}
	if err := s.renew(t.Context(), 1); !errors.Is(err, rpctypes.ErrInvalidAuthToken) {
		t.Errorf("%v does not tell why", err)
	}
}
