package daemon_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// others are clients that have done nothing wrong.
type others struct {
	redis *redis.Client
	web   *http.Client
}

func newOthers(t *testing.T, d *daemontest.Daemon) others {
	r := redis.NewClient(&redis.Options{Network: "unix", Addr: d.Config.Socket.Path, PoolSize: 1, MaxRetries: -1})
	t.Cleanup(func() { _ = r.Close() })
	return others{r, overSocket(t, d)}
}

// served has each of them take an ID.
func (o others) served(t *testing.T, when string) {
	t.Helper()
	if _, err := o.redis.Do(t.Context(), "NEXT").Int64(); err != nil {
		t.Errorf("%s, another client gets %v", when, err)
	}
	if reply, body := get(t, o.web, "/v1/ids"); reply.StatusCode != 200 {
		t.Errorf("%s, another client gets %s", when, body)
	}
}

// issued is how many IDs the daemon has handed out.
func issued(t *testing.T, web *http.Client) int {
	t.Helper()
	_, body := get(t, web, "/v1/status")
	var status struct {
		Stats struct {
			Issued int `json:"total_ids_issued"`
			Burnt  int `json:"total_ids_burnt"`
		}
	}
	if err := json.Unmarshal([]byte(body), &status); err != nil || status.Stats.Burnt != 0 {
		t.Fatal(body, err)
	}
	return status.Stats.Issued
}

// replies reads until the connection ends or has given as many replies as that: the status of each
// of HTTP, and the first word of each line of RESP.
func replies(in *bufio.Reader, most int) (all []string, ended bool) {
	for len(all) < most {
		start, err := in.Peek(1)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return append(all, "nothing"), false
		}
		if err != nil {
			return all, true
		}
		if start[0] == 'H' {
			reply, err := http.ReadResponse(in, nil)
			if err != nil {
				return append(all, err.Error()), true
			}
			_, _ = io.Copy(io.Discard, reply.Body) // its end is seen next
			all = append(all, reply.Status[:3])
			continue
		}
		line, err := in.ReadString('\n')
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(word, ":") {
			all = append(all, ":") // an ID
		} else {
			all = append(all, word)
		}
		if err != nil {
			return all, true
		}
	}
	return all, false
}

// Requests that two readers could understand differently, and those of one dialect that look like
// another's, get the replies that are here and no others: what is hidden in them takes no ID, and
// the next client is served.
func TestSmuggledRequestsAndLookAlikes(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	other := newOthers(t, d)
	const (
		ids    = "GET /v1/ids HTTP/1.1\r\nHost: f\r\n"
		hidden = ids + "\r\n"
		form   = "POST /v1/ids HTTP/1.1\r\nHost: f\r\nContent-Type: application/x-www-form-urlencoded\r\n"
		web    = "GET /livez HTTP/1.1\r\nHost: f\r\n\r\n" // what comes last tells whether the connection goes on
		redis  = "PING\r\n"
	)
	long := strings.Repeat("x", 100<<10)
	deadline := time.Now().Add(time.Minute) // of all: only a connection that is kept comes to it
	for name, tt := range map[string]struct {
		send string
		want string // replies; END: the connection has ended
		ids  int    // that are handed out
	}{
		"a length and chunks":           {ids + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "200 END", 1},
		"chunks and a length":           {ids + "Transfer-Encoding: chunked\r\nContent-Length: 60\r\n\r\n0\r\n\r\n" + hidden, "200 END", 1},
		"twice the same length":         {ids + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab" + hidden, "200 END", 1},
		"chunks in HTTP/1.0":            {"GET /v1/ids HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "200 END", 1},
		"a request behind a body":       {"POST /v1/ids HTTP/1.1\r\nHost: f\r\nContent-Length: 60\r\n\r\n" + hidden, "415 END", 0},
		"a request behind a form":       {form + "Content-Length: 7\r\n\r\ncount=3" + web, "200 200", 3},
		"a request behind chunks":       {form + "Transfer-Encoding: chunked\r\n\r\n7\r\ncount=3\r\n0\r\n\r\n" + hidden, "200 END", 3},
		"a request as a form":           {form + "Content-Length: 33\r\n\r\n" + hidden + web, "400 200", 0},
		"a form that is too long":       {form + "Content-Length: 102400\r\n\r\n" + hidden, "400 END", 0},
		"a form with two lengths":       {form + "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "200 END", 1},
		"two lengths and a wrong URL":   {"POST /v1/ids?%zz HTTP/1.1\r\nHost: f\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "400 END", 0},
		"a call with two lengths":       {"POST /flakeward.v1.IdService/Next HTTP/1.1\r\nHost: f\r\nContent-Type: application/json\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden, "200 END", 1},
		"a body of a GET":               {ids + "Content-Length: 60\r\n\r\n" + hidden, "200 END", 1},
		"a field that goes on":          {ids + "X: a\r\n b\r\n\r\n" + web, "200 200", 1},
		"a bare LF":                     {"GET /v1/ids HTTP/1.1\nHost: f\n\n" + web, "200 200", 1},
		"a bare CR in the first line":   {"GET /v1/ids\rHTTP/1.1 HTTP/1.1\r\nHost: f\r\n\r\n" + web, "400 END", 0},
		"a path as host":                {"GET /v1/ids HTTP/1.1\r\nHost: /run/f.sock\r\n\r\n" + web, "200 200", 1},
		"two paths as hosts":            {"GET /v1/ids HTTP/1.1\r\nHost: /f\r\nHost: /f\r\n\r\n" + web, "400 END", 0},
		"an absolute URI":               {"GET http://g/v1/ids HTTP/1.1\r\nHost: f\r\n\r\n" + web, "200 200", 1},
		"an absolute URI of RESP":       {"GET redis://g/v1/ids HTTP/1.1\r\nHost: f\r\n\r\n" + web, "200 200", 1},
		"a path in disguise":            {"GET /v1%2fids HTTP/1.1\r\nHost: f\r\n\r\n" + web, "200 200", 1},
		"a star":                        {"GET * HTTP/1.1\r\nHost: f\r\n\r\n" + web, "404 200", 0},
		"CONNECT":                       {"CONNECT f:80 HTTP/1.1\r\nHost: f:80\r\n\r\n" + web, "404 200", 0},
		"a method in lower case":        {"get /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n" + web, "405 200", 0},
		"a method that is none":         {"G(T /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n" + web, "400 END", 0},
		"a method that is not served":   {"DELETE /v1/ids/1 HTTP/1.1\r\nHost: f\r\n\r\n" + web, "405 200", 0},
		"another version":               {"GET /v1/ids HTTP/1.9\r\nHost: f\r\n\r\n" + web, "200 200", 1},
		"an upgrade":                    {ids + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" + web, "200 200", 1},
		"an expectation":                {ids + "Expect: 100-continue\r\nContent-Length: 60\r\n\r\n", "200 END", 1},
		"a long URL":                    {"GET /" + long + " HTTP/1.1\r\nHost: f\r\n\r\n" + web, "431 END", 0},
		"a long field":                  {ids + "X: " + long + "\r\n\r\n" + web, "431 END", 0},
		"many fields":                   {ids + strings.Repeat("X: y\r\n", 20000) + "\r\n" + web, "431 END", 0},
		"two lengths":                   {ids + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + web, "400 END", 0},
		"an encoding that is unknown":   {ids + "Transfer-Encoding: xchunked\r\n\r\n" + web, "501 END", 0},
		"no host":                       {"GET /v1/ids HTTP/1.1\r\n\r\n" + web, "400 END", 0},
		"no method":                     {" /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n" + web, "400 END", 0},
		"a NUL":                         {"GET /v1/ids\x00 HTTP/1.1\r\nHost: f\r\n\r\n" + web, "400 END", 0},
		"a long body":                   {ids + "Content-Length: 102400\r\n\r\n" + long + hidden, "200 END", 1},
		"RESP behind HTTP":              {hidden + "*1\r\n$4\r\nNEXT\r\n", "200 400 END", 1},
		"RESP in a body":                {ids + "Content-Length: 14\r\n\r\n*1\r\n$4\r\nNEXT\r\n", "200 END", 1},
		"HTTP behind RESP":              {"NEXT\r\nGET /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n" + redis, ": -ERR -ERR +PONG", 1},
		"HTTP without a version":        {"GET /v1/ids\r\n" + redis, "$-1 +PONG", 0},
		"HTTP behind an empty line":     {"\r\n" + hidden + redis, "-ERR -ERR +PONG", 0},
		"HTTP in an argument":           {"*2\r\n$4\r\nECHO\r\n$28\r\nGET /v1/ids HTTP/1.1\r\n\r\nNEXT\r\n" + redis, "$28 GET  NEXT +PONG", 0},
		"RESP that ends as HTTP does":   {"NEXT 5 HTTP/1.1\r\n\r\n", "400 END", 0},
		"an array with a version":       {"*1 HTTP/1.1\r\n", "-ERR END", 0},
		"the preface behind RESP":       {"PING\r\nPRI * HTTP/2.0\r\n" + redis, "+PONG -ERR +PONG", 0},
		"a preface that ends as HTTP/1": {"PRI * HTTP/1.1\r\nHost: f\r\n\r\n", "404", 0},
		"TLS":                           {"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00\r\n" + redis, "-ERR +PONG", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := issued(t, other.web)
			conn := must.Get(net.Dial("unix", d.Config.Socket.Path))(t)
			_ = conn.SetReadDeadline(deadline)
			defer conn.Close()                                   // it has nothing to lose
			go func() { _, _ = io.WriteString(conn, tt.send) }() // its end may find the connection closed
			most := strings.Count(tt.want, " ") + 1
			expects := strings.Contains(tt.send, "100-continue")
			if expects {
				most++
			}
			got, ended := replies(bufio.NewReader(conn), most)
			if expects && got[0] == "100" { // the body's reader was ahead of the reply
				got = got[1:]
			}
			if ended {
				got = append(got, "END")
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("the replies are %q, want %q", got, tt.want)
			}
			if taken := issued(t, other.web) - before; taken != tt.ids {
				t.Errorf("%d IDs were handed out, want %d", taken, tt.ids)
			}
			other.served(t, "afterwards")
		})
	}
}
