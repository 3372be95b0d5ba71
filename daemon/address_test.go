package daemon_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

var listens = regexp.MustCompile(`listening on an address: address=(\S+)`)

// address is where the daemon listens on TCP.
func address(t *testing.T, d *daemontest.Daemon) string {
	t.Helper()
	found := listens.FindStringSubmatch(d.Log.String())
	if found == nil {
		t.Fatalf("no address in the log:\n%s", d.Log)
	}
	return found[1]
}

// says sends lines on a connection of its own, and returns as many lines of the replies.
func says(t *testing.T, network, address string, lines ...string) (replies []string) {
	t.Helper()
	conn := must.Get(net.Dial(network, address))(t)
	defer conn.Close() // it has nothing to lose
	must.Get(io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n"))(t)
	in := bufio.NewReader(conn)
	for range lines {
		line := must.Get(in.ReadString('\n'))(t)
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		replies = append(replies, strings.TrimRight(word, "0123456789"))
	}
	return replies
}

// overTCP asks at an address, and returns the status.
func overTCP(t *testing.T, address, path, password string, fields ...string) *http.Response {
	t.Helper()
	r := must.Get(http.NewRequest("GET", "http://"+address+path, nil))(t)
	if password != "" {
		r.SetBasicAuth("default", password)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	reply := must.Get(http.DefaultClient.Do(r))(t)
	_ = reply.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return reply
}

// protected starts a daemon with a password.
func protected(t *testing.T, reload <-chan os.Signal) (*daemontest.Daemon, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(file, []byte("secret\n"), 0o600))
	c := daemontest.Config(t.TempDir())
	c.Listen.Address, c.Listen.PasswordFile, c.Reload = "127.0.0.1:0", file, reload
	return daemontest.Start(t, c), file
}

func TestTheLoopbackAnswersAsTheSocketDoes(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Listen.Address = "127.0.0.1:0"
	d := daemontest.Start(t, c)
	at := address(t, d)
	if got := strings.Join(says(t, "tcp", at, "PING", "AUTH default x", "NEXT", "HELLO 2 AUTH default x"), " "); got != "+PONG +OK : *" {
		t.Errorf("RESP: %s", got)
	}
	for path, want := range map[string]int{"/livez": 200, "/metrics": 200, "/v1/status": 200, "/v1/ids": 200, "/": 200, "/v1/x": 404} {
		if reply := overTCP(t, at, path, ""); reply.StatusCode != want {
			t.Errorf("%s: %s", path, reply.Status)
		}
	}
	if reply := overTCP(t, at, "/v1/ids", "", "Sec-Fetch-Site", "cross-site"); reply.StatusCode != http.StatusForbidden {
		t.Errorf("for a page of another site: %s", reply.Status)
	}
	r := must.Get(http.NewRequest("GET", "http://"+at+"/v1/status", nil))(t)
	r.Host = "evil.example"
	reply := must.Get(http.DefaultClient.Do(r))(t)
	_ = reply.Body.Close()
	if reply.StatusCode != http.StatusForbidden {
		t.Errorf("under another name: %s", reply.Status)
	}
	before := issued(t, overSocket(t, d))
	conn := must.Get(net.Dial("tcp", at))(t)
	defer conn.Close() // it has nothing to lose
	must.Get(io.WriteString(conn, "POST /v1/ids HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 6\r\n\r\nNEXT\r\nNEXT\r\n"))(t)
	must.Do(t, conn.(*net.TCPConn).CloseWrite())
	if got, _ := replies(bufio.NewReader(conn), 3); len(got) == 0 || got[0] != "403" || slices.Contains(got, ":") {
		t.Errorf("a page's request with RESP behind it is answered with %q", got)
	}
	if n := issued(t, overSocket(t, d)); n != before {
		t.Errorf("%d IDs were issued for it", n-before)
	}
}

func TestAPasswordIsGivenBeforeAnythingElse(t *testing.T) {
	reload := make(chan os.Signal)
	d, file := protected(t, reload)
	at := address(t, d)
	for _, tt := range []struct{ send, want string }{
		{"NEXT;PING;X;RUN 5;MULTI;CLIENT ID;HELLO 3;AUTH secret;NEXT;PING", "-NOAUTH -NOAUTH -NOAUTH -NOAUTH -NOAUTH -NOAUTH -NOAUTH +OK : +PONG"},
		{"AUTH wrong;NEXT;AUTH default secret;NEXT;AUTH wrong;NEXT", "-WRONGPASS -NOAUTH +OK : -WRONGPASS :"},
		{"AUTH other secret;NEXT", "-WRONGPASS -NOAUTH"},
		{"HELLO 2 AUTH default wrong;NEXT", "-WRONGPASS -NOAUTH"},
		{"AUTH secret;RESET;NEXT", "+OK +RESET -NOAUTH"},
		{"AUTH secret;MULTI;NEXT;EXEC", "+OK +OK +QUEUED *"},
	} {
		if got := strings.Join(says(t, "tcp", at, strings.Split(tt.send, ";")...), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.send, got, tt.want)
		}
	}
	if got := strings.Join(says(t, "unix", d.Config.Socket.Path, "NEXT", "AUTH secret", "NEXT", "AUTH wrong", "NEXT"), " "); got != ": +OK : -WRONGPASS :" {
		t.Errorf("on the socket: %s", got)
	}
	for _, tt := range []struct {
		path, password string
		want           int
	}{
		{"/v1/ids", "", 401}, {"/v1/ids", "wrong", 401}, {"/v1/ids", "secret", 200}, {"/", "", 401}, {"/flakeward.v1.IdService/Next", "", 401},
		{"/livez", "", 200}, {"/readyz", "", 200}, {"/metrics", "", 200},
	} {
		reply := overTCP(t, at, tt.path, tt.password)
		if reply.StatusCode != tt.want || (tt.want == 401) != strings.HasPrefix(reply.Header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%s with %q: %s, %v", tt.path, tt.password, reply.Status, reply.Header)
		}
	}
	if reply, _ := get(t, overSocket(t, d), "/v1/ids"); reply.StatusCode != 200 {
		t.Errorf("on the socket: %s", reply.Status)
	}
	must.Do(t, os.WriteFile(file, []byte("another"), 0o600))
	reload <- syscall.SIGHUP
	reload <- syscall.SIGHUP // the first one is through
	if got := strings.Join(says(t, "tcp", at, "AUTH secret", "AUTH another", "NEXT"), " "); got != "-WRONGPASS +OK :" {
		t.Errorf("after SIGHUP: %s", got)
	}
}

func TestAnAddressThatIsTakenIsToldAtTheStart(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close() // it has nothing to lose
	c := daemontest.Config(t.TempDir())
	c.Listen.Address = l.Addr().String()
	if err := daemontest.Launch(t, c, daemon.Run).Refusal(); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("the error is %v", err)
	}
}
