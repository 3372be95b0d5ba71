package daemon_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// The page is shown on the socket and on the address, to who may see what else is there.
func TestThePageIsShown(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Admin.Address = "127.0.0.1:0"
	d := daemontest.Start(t, c)
	_, ids := get(t, overSocket(t, d), "/v1/ids", "Accept", "text/plain")
	id := strings.TrimSpace(ids)
	for name, client := range map[string]*http.Client{"socket": overSocket(t, d), "address": at(t, address(t, d), &http.Transport{})} {
		host := map[string]string{"socket": "http://f", "address": "http://localhost"}[name]
		reply := must.Get(client.Get(host + "/?id=" + id))(t)
		body, _ := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		for _, want := range []string{"Issuing IDs", "in this state directory only", "(here)", `<dt>host</dt><dd>host</dd>`, ">sequence<"} {
			if !strings.Contains(string(body), want) {
				t.Errorf("on the %s, %s: the page does not have %s:\n%s", name, reply.Status, want, body)
			}
		}
	}
	client := at(t, address(t, d), &http.Transport{})
	if reply, err := client.Get("http://elsewhere.example/"); err != nil || reply.StatusCode != http.StatusForbidden {
		t.Errorf("under another name: %v, %v", reply, err)
	} else {
		_ = reply.Body.Close()
	}
}

// looks listens as a browser does that shows the page, and returns what ends with the stream.
func looks(t *testing.T, socket string) <-chan error {
	t.Helper()
	client := sockettest.HTTP(t, socket, false)
	reply, err := client.Get("http://f/page/events")
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", reply, err)
	}
	read := bufio.NewReader(reply.Body)
	for line := ""; !strings.HasPrefix(line, "data: {"); {
		line = must.Get(read.ReadString('\n'))(t)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, read)
		_ = reply.Body.Close()
		client.CloseIdleConnections()
		ended <- err
	}()
	return ended
}

// Who looks keeps no daemon from ending, and none from handing over: the stream ends in order, and
// the next daemon serves another.
func TestStreamsOfThePageEndWithTheDaemon(t *testing.T) {
	d := start(t, config(dir(t)))
	before := looks(t, d.config.Socket.Path)
	d = takeOver(t, d)
	if err := <-before; err != nil {
		t.Errorf("at a takeover, a stream was cut off: %v", err)
	}
	after := looks(t, d.config.Socket.Path)
	d.Stop()
	if err := <-after; err != nil {
		t.Errorf("at a stop, a stream was cut off: %v", err)
	}
}
