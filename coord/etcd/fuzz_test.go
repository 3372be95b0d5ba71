package etcd

import (
	"net/url"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/flakeward/flakeward/internal/must"
)

// FuzzKeys: a key tells one worker ID, which has no other key, and whatever a host is called it has
// a key of its own.
func FuzzKeys(f *testing.F) {
	f.Add("/f/workers/0000007", "h1.example")
	f.Add("/f/workers/+000007", "a/b")
	f.Add("/f/workers/9999999", "%2F")
	f.Add("/f/workers/00000007", "..")
	f.Add("/f/claims/0000007", "")
	f.Fuzz(func(t *testing.T, key, host string) {
		k := keys{root: "/f/"}
		if worker, ok := k.workerOf(key); ok && k.record(worker) != key {
			t.Errorf("%q is the record of worker ID %d, which has %q", key, worker, k.record(worker))
		}
		escaped, below := strings.CutPrefix(k.host(host), "/f/hosts/")
		back, err := url.PathUnescape(escaped)
		if !below || err != nil || back != host || strings.Contains(escaped, "/") {
			t.Errorf("host %q has the key %q, which is of %q, %v", host, k.host(host), back, err)
		}
	})
}

// FuzzAnswer: whatever bytes a server sends for the answer to a transaction, it is refused, or has
// all that was asked for; and no claim is told of that was not made before ours.
func FuzzAnswer(f *testing.F) {
	name := nodeName{worker: 7, number: "3", incarnation: "I1", nonce: "N1"}
	earlier := nodeName{worker: 7, number: sticky, incarnation: "I2", nonce: "N2"}
	s := &store{keys: keys{root: "/f/"}}
	ranged := func(kvs ...*mvccpb.KeyValue) *etcdserverpb.ResponseOp {
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{Kvs: kvs}}}
	}
	header := &etcdserverpb.ResponseHeader{Revision: 9, ClusterId: 1}
	put := &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{PrevKv: &mvccpb.KeyValue{Version: 3}}}}
	claims := ranged(&mvccpb.KeyValue{Key: []byte(s.keys.claim(name.String())), CreateRevision: 9}, &mvccpb.KeyValue{Key: []byte(s.keys.claim(earlier.String())), CreateRevision: 4})
	record := ranged(&mvccpb.KeyValue{Key: []byte(s.keys.record(7)), Value: []byte("{}"), ModRevision: 5})
	for _, answer := range []*etcdserverpb.TxnResponse{
		{Header: header, Succeeded: true, Responses: []*etcdserverpb.ResponseOp{put, claims, record, ranged()}},
		{Header: header, Responses: []*etcdserverpb.ResponseOp{claims, claims, record, ranged()}},
		{Header: header, Succeeded: true, Responses: []*etcdserverpb.ResponseOp{put}},
		{Succeeded: true, Responses: []*etcdserverpb.ResponseOp{put, claims, record, ranged()}},
		{Succeeded: true, Responses: []*etcdserverpb.ResponseOp{put}},
		{Header: header, Succeeded: true},
	} {
		b := must.Get(proto.Marshal(answer))(f)
		f.Add(b)
	}
	get := clientv3.OpGet("/f/layout")
	f.Fuzz(func(t *testing.T, b []byte) {
		resp := new(clientv3.TxnResponse)
		if proto.Unmarshal(b, (*etcdserverpb.TxnResponse)(resp)) != nil {
			return
		}
		if complete(resp, []clientv3.Op{get}, nil) == nil && resp.Succeeded {
			_ = kvAt(resp, 0)
			_ = drawn(resp)
			_ = resp.Header.Revision
		}
		four := []clientv3.Op{get, get, get, get}
		if complete(resp, four, four) != nil {
			return
		}
		made := s.created(resp, name)
		for _, other := range made.Before {
			if n, ok := parseName(other.Name); !ok || n.worker != other.Worker || other.Created >= made.Created {
				t.Errorf("%+v is told to be before %+v", other, made.Node)
			}
		}
	})
}
