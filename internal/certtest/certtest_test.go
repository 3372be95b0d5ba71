package certtest_test

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/flakeward/flakeward/internal/certtest"
)

// handshake returns what the client and the server say of a connection.
func handshake(t *testing.T, server, client *tls.Config) (atClient, atServer error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answered := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			err = tls.Server(conn, server).HandshakeContext(t.Context())
		}
		answered <- err
	}()
	conn, err := tls.Dial("tcp", l.Addr().String(), client)
	if err == nil {
		defer conn.Close()
	}
	return err, <-answered
}

func TestCertificates(t *testing.T) {
	ca, other := certtest.New(t, "ca"), certtest.New(t, "other")
	server := ca.ServerConfig(ca.Server(), true)
	for name, c := range map[string]struct {
		server, client *tls.Config
		good           bool
	}{
		"good":               {server, ca.ClientConfig(ca.Client("c")), true},
		"no client's":        {server, ca.ClientConfig(), false},
		"another client's":   {server, ca.ClientConfig(other.Client("c")), false},
		"an expired one":     {server, ca.ClientConfig(ca.ExpiredClient("c")), false},
		"another authority":  {server, other.ClientConfig(ca.Client("c")), false},
		"an expired server":  {ca.ServerConfig(ca.ExpiredServer(), false), ca.ClientConfig(), false},
		"no client's wanted": {ca.ServerConfig(ca.Server(), false), ca.ClientConfig(), true},
	} {
		atClient, atServer := handshake(t, c.server, c.client)
		if good := atClient == nil && atServer == nil; good != c.good {
			t.Errorf("%s: %v, %v", name, atClient, atServer)
		}
	}
	pair := ca.Client("c")
	for cert, key := range map[string]string{pair.CertFile: pair.KeyFile, pair.BothFile: pair.BothFile} {
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			t.Errorf("the files: %v", err)
		}
	}
}
