package rpc

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/internal/must"
)

// counted is what was counted until now, which begins anew.
func (s *site) counted() (codes map[string]int) {
	s.note(func() { codes = maps.Clone(s.codes); clear(s.codes) })
	return codes
}

// A call that does not come to its method is counted, and says what to do.
func TestCallsThatComeToNoMethodAreCountedAndSayWhatToDo(t *testing.T) {
	s := start(t)
	client := &http.Client{}
	defer client.CloseIdleConnections()
	for name, tt := range map[string]struct {
		method, path, kind, body string
		status                   int
		count, says              string
	}{
		"no method":      {"POST", "/flakeward.v1.IdService/Foo", "application/json", "{}", 404, "other unknown-path", "/v1/openapi.json"},
		"no service":     {"POST", "/flakeward.v1.Other/Next", "text/plain", "{}", 404, "other unknown-path", "/v1/openapi.json"},
		"GET":            {"GET", "/flakeward.v1.IdService/Next", "application/json", "", 405, "next wrong-method", "use POST"},
		"text":           {"POST", "/flakeward.v1.IdService/Next", "text/plain", "{}", 415, "next bad-call", "application/json"},
		"HTTP/1":         {"POST", "/flakeward.v1.IdService/Stream", "application/connect+json", "{}", 505, "stream bad-call", "HTTP/2"},
		"no JSON":        {"POST", "/flakeward.v1.IdService/Next", "application/json", "{", 400, "next bad-call", "unmarshal message"},
		"no message":     {"POST", "/flakeward.v1.IdService/Next", "application/json", "", 400, "next bad-call", "send an object"},
		"misspelt field": {"POST", "/flakeward.v1.IdService/Next", "application/json", `{"tenat":"shop"}`, 400, "next bad-call", `unknown field \"tenat\"`},
		"misspelt form":  {"POST", "/flakeward.v1.IdService/Next", "application/json; charset=utf-8", `{"as":"hex"}`, 400, "next bad-call", "forms are written as FORM_BASE62 is"},
		"health":         {"POST", "/grpc.health.v1.Health/Check", "application/json", "{}", 200, "health ok", "SERVING"},
	} {
		t.Run(name, func(t *testing.T) {
			r := must.Get(http.NewRequestWithContext(t.Context(), tt.method, "http://"+s.address+tt.path, strings.NewReader(tt.body)))(t)
			r.Header.Set("Content-Type", tt.kind)
			reply := must.Get(client.Do(r))(t)
			body := must.Get(io.ReadAll(reply.Body))(t)
			_ = reply.Body.Close() // it was read
			if reply.StatusCode != tt.status || !bytes.Contains(body, []byte(tt.says)) || !json.Valid(body) {
				t.Errorf("%s: %s", reply.Status, body)
			}
			if seen := s.counted(); len(seen) != 1 || seen[tt.count] != 1 {
				t.Errorf("counted as %v, want %s", seen, tt.count)
			}
		})
	}
}

// http2 is a client of the site that speaks HTTP/2.
func (s *site) http2(t *testing.T) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestEachMessageOfAStreamIsCountedByItsCode(t *testing.T) {
	s := start(t)
	s.clock.Advance(time.Second)
	stream := flakewardv1connect.NewIdServiceClient(s.http2(t), "http://"+s.address, connect.WithGRPC()).Stream(t.Context())
	for _, count := range []uint32{1, 1 << 20, 2, 1 << 20, 1 << 20} {
		must.Do(t, stream.Send(&flakewardv1.StreamRequest{Count: count}))
		must.Get(stream.Receive())(t)
	}
	must.Do(t, stream.CloseRequest())
	if _, err := stream.Receive(); err == nil {
		t.Error("a further answer")
	}
	_ = stream.CloseResponse() // it has ended
	s.until(t, func() bool { return s.serving == 0 })
	if seen := s.counted(); len(seen) != 2 || seen["stream ok"] != 2 || seen["stream count-too-high"] != 3 {
		t.Errorf("counted as %v", seen)
	}
}
