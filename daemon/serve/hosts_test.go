package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sayAll says what a request is made of, but its host.
func sayAll(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %q %q %v", r.URL.Path, r.Header.Get("X"), body, err)
}

// On a socket the host says nothing: whatever a client names is taken, in every request of a
// connection and in however many parts it arrives. What RFC 9112 has refused is refused.
func TestAnyHostIsTaken(t *testing.T) {
	const tail = "\r\nX: http://a~b Host: /%2F\r\n\r\n"
	const said = `/v1/ids "http://a~b Host: /%2F" "" <nil>`
	h := start(t, newStore(-1), answering(sayAll))
	for _, c := range []struct {
		request string
		status  int
	}{
		{"GET /v1/ids HTTP/1.1\r\nHost: localhost:80" + tail, 200},
		{"GET /v1/ids HTTP/1.1\r\nHost:" + tail, 200},
		{"GET /v1/ids HTTP/1.1\r\nHost: /run/flakeward/flakeward.sock" + tail, 200},
		{"GET /v1/ids HTTP/1.1\r\nX-Host: a\r\nhOST:/run/my dir/{\"é\"}.sock:" + tail, 200},
		{"GET /v1/ids HTTP/1.1\nHost: unix:///run/f.sock\nX: http://a~b Host: /%2F\n\n", 200},
		{"GET /v1/ids HTTP/1.1\r\nHost: %2Frun%2Ff.sock" + tail, 200},
		{"GET http://f/v1/ids HTTP/1.1\r\nHost: g" + tail, 200},
		{"GET http+unix://%2Frun%2Ff.sock/v1/ids HTTP/1.1\r\nHost: %2Frun%2Ff.sock" + tail, 200},
		{"GET /v1/ids?a=http://%2Fb/c%20d HTTP/1.1\r\nHost: /f" + tail, 200},
		{"GET /v1/ids HTTP/1.0" + tail, 200},
		{"GET /v1/ids HTTP/1.1" + tail, 400},
		{"GET /v1/ids HTTP/1.1\r\nHost: f\r\nHost: f" + tail, 400},
		{"GET /v1/ids HTTP/1.1\r\nHost: /f\r\nHost: /f" + tail, 400},
		{"GET /v1/ids HTTP/1.1\r\nHost : f" + tail, 400},
		{"GET /v1/ids HTTP/1.1\r\nHost: a\x00b" + tail, 400},
	} {
		want := said
		if c.status != 200 {
			want = ""
		}
		p := h.dial(t)
		p.send(c.request)
		p.wantHost(c.request, c.status, want)
		if c.status == 200 && !strings.Contains(c.request, "HTTP/1.0") {
			for i := range c.request { // once more, byte by byte
				p.send(c.request[i : i+1])
			}
			p.wantHost(c.request, c.status, want)
		}
		_ = p.Close()
	}
}

func (p *peer) wantHost(request string, status int, body string) {
	p.t.Helper()
	r, err := http.ReadResponse(p.in, nil)
	if err != nil {
		p.t.Fatalf("%q: no response: %v", request, err)
	}
	if got, err := io.ReadAll(r.Body); err != nil || r.StatusCode != status || body != "" && string(got) != body {
		p.t.Errorf("%q: %s %q (%v), want %d %q", request, r.Status, got, err, status, body)
	}
}

// The host is taken in each request of a pipeline, and behind a body, which is not changed.
func TestAnyHostIsTakenBehindABody(t *testing.T) {
	const body = "{\"count\":\"3\",\n\"as\":\"a://b~c\"}"
	h := start(t, newStore(-1), answering(sayAll))
	p := h.dial(t)
	p.send(strings.Repeat(fmt.Sprintf("POST /x HTTP/1.1\r\nHost: /f\r\nContent-Length: %d\r\n\r\n%s", len(body), body)+
		fmt.Sprintf("POST /x HTTP/1.1\r\nHost: /f\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)+
		"GET http+unix://%2Ff/y HTTP/1.1\r\nHost: /f\r\n\r\n", 3))
	for range 3 {
		p.wantResponse(200, fmt.Sprintf("/x \"\" %q <nil>", body))
		p.wantResponse(200, fmt.Sprintf("/x \"\" %q <nil>", body))
		p.wantResponse(200, `/y "" "" <nil>`)
	}
}
