package daemon_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

var listens = regexp.MustCompile(`answering HTTP on an address: address=(\S+)`)

// address is where the daemon listens on TCP.
func address(t *testing.T, d *daemontest.Daemon) string {
	t.Helper()
	found := listens.FindStringSubmatch(d.Log.String())
	if found == nil {
		t.Fatalf("no address in the log:\n%s", d.Log)
	}
	return found[1]
}

// at is a client of an address.
func at(t *testing.T, address string, transport *http.Transport) *http.Client {
	t.Helper()
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestAnAddressShowsAllButIDs(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Admin.Address = "127.0.0.1:0"
	d := daemontest.Start(t, c)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/v1/status": 200, "/v1/cluster": 200, "/v1/ids/1": 200, "/v1/ids": 403, "/v1/runs": 403} {
		reply := must.Get(http.Get("http://" + address(t, d) + path))(t)
		_ = reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("%s: %s", path, reply.Status)
		}
	}
}

// The budget of memory does not count connections of the address, so each may ask for little at
// once.
func TestAConnectionOfAnAddressIsToldHowManyRequestsItMayHave(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Admin.Address = "127.0.0.1:0"
	conn, err := net.Dial("tcp", address(t, daemontest.Start(t, c)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // it has nothing to lose
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f, err := http2.NewFramer(conn, conn).ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	if most, ok := f.(*http2.SettingsFrame).Value(http2.SettingMaxConcurrentStreams); !ok || most != 16 {
		t.Errorf("%d requests at once, want 16", most)
	}
}

// Whoever connects to the address and says nothing keeps out neither probes nor Prometheus.
func TestAnAddressFullOfSilentConnectionsAnswers(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Admin.Address = "127.0.0.1:0"
	to := address(t, daemontest.Start(t, c))
	for range 2 * 256 {
		conn := must.Get(net.Dial("tcp", to))(t)
		defer conn.Close() // it has nothing to lose
	}
	client := at(t, to, &http.Transport{})
	client.Timeout = 10 * time.Second
	for _, path := range []string{"/livez", "/metrics"} {
		reply := must.Get(client.Get("http://localhost" + path))(t)
		_ = reply.Body.Close()
		if reply.StatusCode != 200 {
			t.Errorf("%s: %s", path, reply.Status)
		}
	}
}

func TestAnAddressIssuesIDsIfAsked(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Admin.Address, c.Admin.IDs = "127.0.0.1:0", true
	d := daemontest.Start(t, c)
	for site, want := range map[string]int{"none": 200, "cross-site": 403} {
		r := must.Get(http.NewRequest("GET", "http://"+address(t, d)+"/v1/ids", nil))(t)
		r.Header.Set("Sec-Fetch-Site", site)
		reply := must.Get(http.DefaultClient.Do(r))(t)
		_ = reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("from %s: %s", site, reply.Status)
		}
	}
}

// Over TLS, clients need a certificate and the token; both are read again on SIGHUP.
func TestAnAddressWithTLSAndItsFilesAreReadAgain(t *testing.T) {
	ca, other := certtest.New(t, "one"), certtest.New(t, "two")
	server := ca.Server()
	c := daemontest.Config(t.TempDir())
	c.Admin.Address, c.Admin.Cert, c.Admin.Key, c.Admin.ClientCA = "127.0.0.1:0", server.CertFile, server.KeyFile, ca.File
	c.Admin.TokenFile = filepath.Join(t.TempDir(), "token")
	must.Do(t, os.WriteFile(c.Admin.TokenFile, []byte("0123456789abcdef"), 0o600))
	reload := make(chan os.Signal)
	c.Reload = reload
	d := daemontest.Start(t, c)
	ask := func(trusts, signs *certtest.CA, token string) (int, error) {
		config := trusts.ClientConfig(signs.Client("c"))
		client := at(t, address(t, d), &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true})
		r, _ := http.NewRequest("GET", "https://localhost/v1/status", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		reply, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		_ = reply.Body.Close()
		if reply.ProtoMajor != 2 {
			t.Errorf("over %s", reply.Proto)
		}
		return reply.StatusCode, nil
	}
	if status, err := ask(ca, ca, "0123456789abcdef"); status != 200 {
		t.Errorf("with both: %d, %v", status, err)
	}
	if status, err := ask(ca, ca, "x"); status != 401 {
		t.Errorf("with another token: %d, %v", status, err)
	}
	if status, err := ask(ca, other, "0123456789abcdef"); err == nil {
		t.Errorf("with another authority's certificate: %d", status)
	}
	renewed := other.Server()
	for from, to := range map[string]string{renewed.CertFile: server.CertFile, renewed.KeyFile: server.KeyFile, other.File: ca.File} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		must.Do(t, err)
	}
	reload <- syscall.SIGHUP
	reload <- syscall.SIGHUP // the first one is through
	if status, err := ask(other, other, "0123456789abcdef"); status != 200 {
		t.Errorf("after SIGHUP: %d, %v\n%s", status, err, d.Log)
	}
}

func TestAnAddressThatIsTakenIsToldAtTheStart(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close() // it has nothing to lose
	c := daemontest.Config(t.TempDir())
	c.Admin.Address = l.Addr().String()
	if err := daemontest.Launch(t, c, daemon.Run).Refusal(); err == nil || !strings.Contains(err.Error(), "--admin") {
		t.Errorf("the error is %v", err)
	}
}
