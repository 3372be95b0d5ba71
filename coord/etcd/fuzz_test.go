package etcd

import (
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/internal/must"
)

// FuzzAnswer: whatever bytes a server sends for the answer to a transaction, it is refused, or has
// all that was asked for; and no claim is told of that was not made before ours.
func FuzzAnswer(f *testing.F) {
	claim := claims.Node{Name: "0000007-I1-N1", Worker: 7, Incarnation: "I1", Token: "N1"}
	s := &store{root: "/f/"}
	ranged := func(kvs ...*mvccpb.KeyValue) *etcdserverpb.ResponseOp {
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{Kvs: kvs}}}
	}
	header := &etcdserverpb.ResponseHeader{Revision: 9, ClusterId: 1}
	put := &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{PrevKv: &mvccpb.KeyValue{Version: 3}}}}
	named := ranged(&mvccpb.KeyValue{Key: []byte("/f/claims/0000007-I1-N1"), CreateRevision: 9}, &mvccpb.KeyValue{Key: []byte("/f/claims/0000007-I2-N2"), CreateRevision: 4})
	record := ranged(&mvccpb.KeyValue{Key: []byte("/f/workers/0000007"), Value: []byte("{}"), ModRevision: 5})
	for _, answer := range []*etcdserverpb.TxnResponse{
		{Header: header, Succeeded: true, Responses: []*etcdserverpb.ResponseOp{put, named, record, ranged()}},
		{Header: header, Responses: []*etcdserverpb.ResponseOp{named, named, record, ranged()}},
		{Header: header, Succeeded: true, Responses: []*etcdserverpb.ResponseOp{put}},
		{Succeeded: true, Responses: []*etcdserverpb.ResponseOp{put, named, record, ranged()}},
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
		made := s.created(resp, claim)
		for _, other := range made.Before {
			if n, ok := claims.ParseName(other.Name); !ok || n.Worker != other.Worker || other.Created >= made.Created {
				t.Errorf("%+v is told to be before %+v", other, made.Node)
			}
		}
	})
}
