package zktest_test

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/certtest"
)

// srvr asks by TLS, and returns the answer or the first error.
func srvr(t *testing.T, address string, config *tls.Config) (string, error) {
	t.Helper()
	d := tls.Dialer{Config: config}
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

func TestTLS(t *testing.T) {
	ours, foreign := certtest.New(t, "ours"), certtest.New(t, "foreign")
	server := ours.Server()
	for name, c := range map[string]struct {
		clientCA string
		config   *tls.Config
		ok       bool
	}{
		"no client certificate is wanted":  {config: ours.ClientConfig(), ok: true},
		"a client that trusts others":      {config: foreign.ClientConfig()},
		"a client certificate":             {clientCA: ours.File, config: ours.ClientConfig(ours.Client("c")), ok: true},
		"a client without its certificate": {clientCA: ours.File, config: ours.ClientConfig()},
		"a client certificate of others'":  {clientCA: ours.File, config: ours.ClientConfig(foreign.Client("c"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := zktest.Start(t, zktest.Options{TLS: &zktest.TLS{Cert: server.CertFile, Key: server.KeyFile, ClientCA: c.clientCA}})
			if len(e.TLSAddresses()) != 1 {
				t.Fatalf("TLS addresses: %v", e.TLSAddresses())
			}
			answer, err := srvr(t, e.TLSAddresses()[0], c.config)
			if ok := err == nil && strings.Contains(answer, "Mode: standalone"); ok != c.ok {
				t.Errorf("answer %q, error %v", answer, err)
			}
		})
	}
}

func TestPortStays(t *testing.T) {
	e := zktest.Start(t, zktest.Options{})
	address := e.Addresses()[0]
	e.Stop()
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Errorf("%s took a connection while its server was stopped", address)
	}
	e.Start()
	if e.Addresses()[0] != address {
		t.Errorf("the server moved from %s to %s", address, e.Addresses()[0])
	}
}
