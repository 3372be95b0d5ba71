package rpc

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
)

// A message longer than any that means something is not read, also one that is short only as long
// as it is compressed.
func TestALongMessageIsRefused(t *testing.T) {
	s := start(t)
	for name, options := range map[string][]connect.ClientOption{
		"Connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()},
		"Connect, compressed": {connect.WithSendGzip()}, "gRPC, compressed": {connect.WithGRPC(), connect.WithSendGzip()},
	} {
		c := s.caller(true)
		_, err := flakewardv1connect.NewIdServiceClient(c.client, "http://f", options...).Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{Tenant: strings.Repeat("x", mostBytes)}))
		if connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("%s: %v", name, err)
		}
		c.end()
	}
	s.whole(t)
}
