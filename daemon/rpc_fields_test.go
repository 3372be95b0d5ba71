package daemon_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// used is the methods and fields of the definition that a client has used.
type used map[protoreflect.FullName]bool

func (u used) call(method string, messages ...proto.Message) {
	u[protoreflect.FullName("flakeward.v1.IdService."+method)] = true
	for _, m := range messages {
		u.message(m.ProtoReflect())
	}
}

func (u used) message(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		u[f.FullName()] = true
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				u.message(v.List().Get(i).Message())
			}
		default:
			u.message(v.Message())
		}
		return true
	})
}

// The generated client uses each method, each field and each form of the definition: a new one that
// the daemon does not serve, or that nobody has tried, shows here.
func TestAGeneratedClientUsesTheWholeDefinition(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.IDs.Layout, c.IDs.Datacenter = "time=40@1ms,datacenter=2,worker=5,tenant=4,sequence=12;epoch=2026-01-01", 1
	c.IDs.Tenants = map[string]uint64{"orders": 3}
	c.Waiting.Rate = "1/s+100"
	c.Waiting.MaxBlock = 100 * time.Millisecond
	client := rpcClients(t, daemontest.Start(t, c))["gRPC"]
	u := used{}
	next := func(request *flakewardv1.NextRequest) *flakewardv1.NextResponse {
		t.Helper()
		reply := must.Get(client.Next(t.Context(), connect.NewRequest(request)))(t)
		u.call("Next", request, reply.Msg)
		return reply.Msg
	}
	decode := func(request *flakewardv1.DecodeRequest) *flakewardv1.DecodeResponse {
		t.Helper()
		reply := must.Get(client.Decode(t.Context(), connect.NewRequest(request)))(t)
		u.call("Decode", request, reply.Msg)
		return reply.Msg
	}
	ids := next(&flakewardv1.NextRequest{Count: 3, Tenant: "orders"}).Ids
	if len(ids) != 3 {
		t.Fatalf("%d IDs, want 3", len(ids))
	}
	last := decode(&flakewardv1.DecodeRequest{Id: strconv.FormatInt(ids[2], 10)})
	if last.Id != ids[2] || last.GetTenant() != 3 || last.GetDatacenter() != 1 {
		t.Errorf("%d is taken apart into %v", ids[2], last)
	}
	// What a new daemon's first IDs may have 0 of.
	decode(&flakewardv1.DecodeRequest{Id: strconv.FormatInt(ids[2]|1<<16|1, 10)})
	forms := flakewardv1.Form(0).Descriptor().Values()
	for i := 1; i < forms.Len(); i++ {
		as := flakewardv1.Form(forms.Get(i).Number())
		texts := next(&flakewardv1.NextRequest{As: as, Count: 2, Tenant: "orders"}).Texts
		if len(texts) != 2 {
			t.Fatalf("%v: %q", as, texts)
		}
		if id := decode(&flakewardv1.DecodeRequest{Id: texts[0], As: as}); id.Id <= ids[2] || id.GetTenant() != 3 {
			t.Errorf("%v: %q is taken apart into %v", as, texts[0], id)
		}
	}
	run := &flakewardv1.RunRequest{Count: 10, Tenant: "3"}
	runs := must.Get(client.Run(t.Context(), connect.NewRequest(run)))(t)
	u.call("Run", run, runs.Msg)
	stream := client.Stream(t.Context())
	for _, request := range []*flakewardv1.StreamRequest{{Count: 50, Tenant: "orders"}, {Count: 99, Tenant: "orders"}} {
		must.Do(t, stream.Send(request))
		reply := must.Get(stream.Receive())(t)
		if refused := reply.Error != nil; refused != (request.Count == 99) {
			t.Errorf("%v: %v", request, reply)
		}
		u.call("Stream", request, reply)
	}
	must.Do(t, errors.Join(stream.CloseRequest(), stream.CloseResponse()))
	file := flakewardv1.File_flakeward_v1_flakeward_proto
	for i := range file.Services().Len() {
		methods := file.Services().Get(i).Methods()
		for j := range methods.Len() {
			if name := methods.Get(j).FullName(); !u[name] {
				t.Errorf("nobody has called %s", name)
			}
		}
	}
	for i := range file.Messages().Len() {
		fields := file.Messages().Get(i).Fields()
		for j := range fields.Len() {
			if name := fields.Get(j).FullName(); !u[name] {
				t.Errorf("nobody has set %s", name)
			}
		}
	}
}
