package daemon_test

import (
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"

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

// A refusal has gRPC's code for it. A stream goes on after one.
func TestRemoteCallsSayWhyThereAreNoIDs(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.IDs.Layout = "sonyflake;epoch=2026-01-01"
	c.Waiting.MaxBlock = 100 * time.Millisecond
	client := rpcClients(t, daemontest.Start(t, c))["gRPC"]
	for want, request := range map[connect.Code]*flakewardv1.NextRequest{
		connect.CodeInvalidArgument: {Tenant: "7"}, connect.CodeResourceExhausted: {Count: 60_000},
	} {
		if _, err := client.Next(t.Context(), connect.NewRequest(request)); connect.CodeOf(err) != want {
			t.Errorf("%v: %v, want %v", request, err, want)
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
