package etcd_test

import (
	"errors"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
)

// Where etcd's quota is used up, the error says what to do, and the claim is kept.
func TestNoSpace(t *testing.T) {
	tr := tree{etcdtest.Start(t, etcdtest.Options{Flags: []string{"--quota-backend-bytes=1048576"}}), t}
	claim := tr.claim(tr.daemon("a"), want(0))
	junk, client := strings.Repeat("x", 64<<10), tr.Client()
	var last int64
	for {
		put, err := client.Put(t.Context(), "/junk", junk)
		if errors.Is(err, rpctypes.ErrNoSpace) {
			break
		}
		last = must.Get(put, err)(t).Header.Revision
	}
	err := claim.Extend(t.Context(), coord.Progress{Ceiling: 10})
	if err == nil || errors.Is(err, coord.ErrLost) || !strings.Contains(err.Error(), tr.Endpoint(0)) || !strings.Contains(err.Error(), "quota") {
		t.Errorf("Extend: %v; want an error that names the server and its quota", err)
	}
	must.Get(client.Compact(t.Context(), last, clientv3.WithCompactPhysical()))(t)
	must.Get(client.Defragment(t.Context(), tr.Endpoint(0)))(t)
	must.Get(client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}))(t)
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 10}); err != nil {
		t.Errorf("Extend after there was room again: %v", err)
	}
}
