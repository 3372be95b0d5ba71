package rpc_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/daemon/rpc"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
)

// ones is a Taker whose runs all begin with 1.
type ones struct{}

func (ones) Take(_ context.Context, _ *issue.Connection, _ uint32, n int, _ form.Form, room []generator.Run) ([]generator.Run, error) {
	return append(room, generator.Run{First: 1, N: n}), nil
}

// newHandler answers with ones.
func newHandler(t *testing.T) http.Handler {
	t.Helper()
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	return rpc.New(rest.Config{Take: ones{}, Layout: layout, MaxCount: 1 << 16})
}

// reply notes that a reply may last.
type reply struct {
	*httptest.ResponseRecorder
	lasts bool
}

func (r *reply) SetWriteDeadline(at time.Time) error {
	r.lasts = at.IsZero()
	return nil
}

// TestStreamsLastAndUnaryCallsKeepTheirTimeout: a client that does not take the reply of a unary
// call is not waited for without end.
func TestStreamsLastAndUnaryCallsKeepTheirTimeout(t *testing.T) {
	h := newHandler(t)
	lasting := map[string]bool{
		"/grpc.health.v1.Health/Check": false, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": true,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": true,
	}
	methods := flakewardv1.File_flakeward_v1_flakeward_proto.Services().ByName("IdService").Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		lasting["/"+flakewardv1connect.IdServiceName+"/"+string(m.Name())] = m.IsStreamingServer()
	}
	for path, want := range lasting {
		r := httptest.NewRequest(http.MethodPost, path, http.NoBody)
		r.ProtoMajor, r.ProtoMinor = 2, 0
		r.Header.Set("Content-Type", "application/grpc")
		w := &reply{ResponseRecorder: httptest.NewRecorder()}
		if h.ServeHTTP(w, r); w.lasts != want || w.Code != http.StatusOK {
			t.Errorf("%s: status %d; the reply has no deadline: %t, want %t", path, w.Code, w.lasts, want)
		}
	}
}

// envelope is a message of gRPC, of which the first byte says whether it is compressed.
func envelope(compressed byte, message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{compressed}, uint32(len(message))), message...)
}

// TestRepliesAreNotCompressed: though the client would take it, and may compress what it sends.
func TestRepliesAreNotCompressed(t *testing.T) {
	const many = 5000
	ask := must.Get(proto.Marshal(&flakewardv1.NextRequest{Count: many}))(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(ask)
	_ = z.Close()
	h := newHandler(t)
	for name, body := range map[string][]byte{"plain": envelope(0, ask), "compressed": envelope(1, zipped.Bytes())} {
		r := httptest.NewRequest(http.MethodPost, flakewardv1connect.IdServiceNextProcedure, bytes.NewReader(body))
		r.ProtoMajor, r.ProtoMinor = 2, 0
		r.Header.Set("Content-Type", "application/grpc")
		r.Header.Set("Grpc-Encoding", "gzip")
		r.Header.Set("Grpc-Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got, err := io.ReadAll(w.Body)
		if err != nil || len(got) < 5 || got[0] != 0 {
			t.Fatalf("%s: the reply is %d bytes that begin with %v (%v), trailers %v", name, len(got), got[:min(len(got), 5)], err, w.Result().Trailer)
		}
		var ids flakewardv1.NextResponse
		if err := proto.Unmarshal(got[5:], &ids); err != nil || len(ids.Ids) != many {
			t.Errorf("%s: %d IDs (%v)", name, len(ids.Ids), err)
		}
	}
}
