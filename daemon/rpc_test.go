package daemon_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// rpcClients are one client for each protocol that the socket speaks.
func rpcClients(t *testing.T, d *daemontest.Daemon) map[string]flakewardv1connect.IdServiceClient {
	t.Helper()
	c := sockettest.HTTP(t, d.Config.Socket.Path, true)
	return map[string]flakewardv1connect.IdServiceClient{
		"gRPC":         flakewardv1connect.NewIdServiceClient(c, "http://f", connect.WithGRPC()),
		"gRPC-Web":     flakewardv1connect.NewIdServiceClient(c, "http://f", connect.WithGRPCWeb()),
		"Connect":      flakewardv1connect.NewIdServiceClient(c, "http://f"),
		"Connect/JSON": flakewardv1connect.NewIdServiceClient(c, "http://f", connect.WithProtoJSON()),
	}
}

// Each protocol of remote calls gives IDs of the same lane, rising for one caller.
func TestRemoteCallsGiveIDs(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	last := int64(0)
	rises := func(what string, id int64) {
		if id <= last {
			t.Errorf("%s: %d came after %d", what, id, last)
		}
		last = id
	}
	for name, c := range rpcClients(t, d) {
		next, err := c.Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{Count: 3}))
		if err != nil || len(next.Msg.Ids) != 3 {
			t.Fatalf("%s: %v, %v", name, next, err)
		}
		for _, id := range next.Msg.Ids {
			rises(name, id)
		}
		run, err := c.Run(t.Context(), connect.NewRequest(&flakewardv1.RunRequest{Count: 10_000}))
		if err != nil || run.Msg.Step != 1 {
			t.Fatalf("%s: %v, %v", name, run, err)
		}
		n := uint32(0)
		for _, r := range run.Msg.Runs {
			rises(name, r.First)
			last += int64(r.Count) - 1
			n += r.Count
		}
		if n != 10_000 {
			t.Errorf("%s: %d IDs, want 10,000", name, n)
		}
		decoded, err := c.Decode(t.Context(), connect.NewRequest(&flakewardv1.DecodeRequest{Id: "4096"}))
		if err != nil || decoded.Msg.Id != 4096 || decoded.Msg.Worker != 1 || decoded.Msg.Tenant != nil {
			t.Errorf("%s: %v, %v", name, decoded, err)
		}
		text, err := c.Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{As: flakewardv1.Form_FORM_UUID}))
		if err != nil || len(text.Msg.Texts) != 1 || len(text.Msg.Ids) != 0 {
			t.Fatalf("%s: %v, %v", name, text, err)
		}
		back, err := c.Decode(t.Context(), connect.NewRequest(&flakewardv1.DecodeRequest{Id: text.Msg.Texts[0]}))
		if err != nil {
			t.Fatal(name, err)
		}
		rises(name, back.Msg.Id)
		if name == "gRPC-Web" {
			continue // it has no streams both ways
		}
		stream := c.Stream(t.Context())
		for range 20 {
			if err := stream.Send(&flakewardv1.StreamRequest{Count: 100}); err != nil {
				t.Fatal(name, err)
			}
			r, err := stream.Receive()
			if err != nil || r.Error != nil || len(r.Runs) == 0 {
				t.Fatalf("%s: %v, %v", name, r, err)
			}
			rises(name, r.Runs[0].First)
		}
		if err := errors.Join(stream.CloseRequest(), stream.CloseResponse()); err != nil {
			t.Error(name, err)
		}
	}
}

// An error says what happened by gRPC's code and the daemon's own, and when to try again. A stream
// goes on after one.
func TestRemoteCallsSayWhyThereAreNoIDs(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.IDs.Layout = "sonyflake;epoch=2026-01-01"
	c.Waiting.MaxBlock = 100 * time.Millisecond
	d := daemontest.Start(t, c)
	client := rpcClients(t, d)["gRPC"]
	for what, is := range map[string]struct {
		request *flakewardv1.NextRequest
		code    connect.Code
		own     string
	}{
		"too many for ever":  {&flakewardv1.NextRequest{Count: 1 << 30}, connect.CodeInvalidArgument, "count-too-high"},
		"too many for now":   {&flakewardv1.NextRequest{Count: 60_000}, connect.CodeResourceExhausted, ""},
		"no such tenant":     {&flakewardv1.NextRequest{Tenant: "7"}, connect.CodeInvalidArgument, "no-tenants"},
		"what is no tenant":  {&flakewardv1.NextRequest{Tenant: "x"}, connect.CodeInvalidArgument, "no-tenants"},
		"a form that is not": {&flakewardv1.NextRequest{As: 99}, connect.CodeInvalidArgument, "bad-form"},
	} {
		_, err := client.Next(t.Context(), connect.NewRequest(is.request))
		var e *connect.Error
		if !errors.As(err, &e) || e.Code() != is.code {
			t.Errorf("%s: %v, want %v", what, err, is.code)
			continue
		}
		info := &errdetails.ErrorInfo{}
		for _, detail := range e.Details() {
			if m, err := detail.Value(); err == nil {
				if i, ok := m.(*errdetails.ErrorInfo); ok {
					info = i
				}
			}
		}
		if info.Reason == "" || is.own != "" && info.Reason != is.own {
			t.Errorf("%s: the code is %q, want %q", what, info.Reason, is.own)
		}
	}
	stream := client.Stream(t.Context())
	for _, count := range []uint32{1, 60_000, 1} {
		must.Do(t, stream.Send(&flakewardv1.StreamRequest{Count: count}))
		r, err := stream.Receive()
		if err != nil || (r.Error != nil) != (count > 1) || r.Error == nil && len(r.Runs) != 1 {
			t.Errorf("%d: %v, %v", count, r, err)
		}
	}
	must.Do(t, errors.Join(stream.CloseRequest(), stream.CloseResponse()))
}

// grpc-go, which most gRPC clients in Go are, gets IDs, health and reflection from the socket.
func TestClientOfGRPC(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	conn := must.Get(grpc.NewClient("unix:"+d.Config.Socket.Path, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	defer conn.Close() // it has nothing to lose
	var next flakewardv1.NextResponse
	if err := conn.Invoke(t.Context(), flakewardv1connect.IdServiceNextProcedure, &flakewardv1.NextRequest{}, &next); err != nil || len(next.Ids) != 1 {
		t.Errorf("%v, %v", &next, err)
	}
	health, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: flakewardv1connect.IdServiceName})
	if err != nil || health.Status != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
	reflection := must.Get(reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context()))(t)
	must.Do(t, reflection.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}))
	listed, err := reflection.Recv()
	if err != nil || !strings.Contains(listed.String(), flakewardv1connect.IdServiceName) || !strings.Contains(listed.String(), grpchealth.HealthV1ServiceName) {
		t.Errorf("reflection: %v, %v", listed, err)
	}
}
