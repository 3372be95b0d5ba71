package rpc

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/await"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
)

// endless is a source that counts up, and what was counted of it.
type endless struct{ next, issued, burnt int64 }

func (s *endless) Take(_ *issue.Connection, _ uint32, n int) (generator.Run, issue.Wait) {
	s.next += int64(n)
	return generator.Run{First: s.next - int64(n), N: n}, issue.Wait{}
}
func (s *endless) Waits(int64)                  {}
func (s *endless) Issued(_ form.Form, n uint64) { s.issued += int64(n) }
func (s *endless) Burnt(n uint64)               { s.burnt += int64(n) }
func (s *endless) Took(time.Duration)           {}

// A message of each method, in each encoding, is answered, or refused with a code of Connect; IDs
// are taken only for what is answered, and no more than one request may have.
func FuzzMessage(f *testing.F) {
	layout := must.Get(generator.ParseLayout("time=41@1ms,datacenter=2,worker=8,tenant=4,sequence=8;epoch=2020-01-01"))(f)
	const most = 1000
	procedures := []string{
		flakewardv1connect.IdServiceNextProcedure, flakewardv1connect.IdServiceRunProcedure, flakewardv1connect.IdServiceDecodeProcedure,
		"/grpc.health.v1.Health/Check", flakewardv1connect.IdServiceStreamProcedure,
	}
	for method := range procedures {
		for _, m := range []proto.Message{
			&flakewardv1.NextRequest{Count: 3, Tenant: "7", As: flakewardv1.Form_FORM_UUID}, &flakewardv1.DecodeRequest{Id: "123456789", As: flakewardv1.Form_FORM_BASE62},
			&flakewardv1.NextRequest{Count: 1 << 31},
		} {
			b := must.Get(proto.Marshal(m))(f)
			f.Add(byte(method), "application/proto", b)
			f.Add(byte(method), "application/grpc+proto", append([]byte{0, 0, 0, 0, byte(len(b))}, b...))
			f.Add(byte(method), "application/connect+proto", append([]byte{0, 0, 0, 0, byte(len(b))}, b...))
		}
		f.Add(byte(method), "application/json", []byte(`{"count":2,"tenant":"1","as":"FORM_BASE62","id":"1"}`))
	}
	f.Fuzz(func(t *testing.T, method byte, kind string, message []byte) {
		source := &endless{}
		taker := await.New(source, clockguard.System{}, source)
		h := New(rest.Config{Take: taker, Layout: layout, MaxCount: most, Health: rest.Health{Ready: func() rest.Readiness { return rest.Readiness{Ready: true} }}})
		path := procedures[int(method)%len(procedures)]
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(message))
		r.Header.Set("Content-Type", kind)
		r.ProtoMajor, r.ProtoMinor = 2, 0
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if source.burnt != 0 || source.issued != source.next {
			t.Errorf("%d IDs were taken, %d issued, %d burnt", source.next, source.issued, source.burnt)
		}
		if path == flakewardv1connect.IdServiceStreamProcedure {
			return // each of its messages may take IDs
		}
		if source.next > most {
			t.Errorf("%d IDs were taken for one message", source.next)
		}
		if kind != "application/json" && kind != "application/proto" {
			return
		}
		if w.Code == http.StatusOK {
			reply := &flakewardv1.NextResponse{}
			if kind == "application/proto" && path == flakewardv1connect.IdServiceNextProcedure &&
				(proto.Unmarshal(w.Body.Bytes(), reply) != nil || int64(len(reply.Ids)+len(reply.Texts)) != source.next) {
				t.Errorf("%d IDs were taken for %v", source.next, reply)
			}
			return
		}
		var problem struct{ Code string }
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || problem.Code == "" || source.next != 0 {
			t.Errorf("%d %q (%v), and %d IDs were taken", w.Code, w.Body, err, source.next)
		}
	})
}
