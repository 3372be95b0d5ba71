package etcd_test

import (
	"crypto/tls"
	"errors"
	"testing"

	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/certtest"
)

func tick(n int) generator.Tick { return generator.Tick(n) }

// Each mistake has its own words, and is tried on: what is wrong may be set right at the servers.
// One that a handshake shows is told once, as other servers may serve meanwhile.
func TestTLSMistakes(t *testing.T) {
	ca, other := certtest.New(t, "ca"), certtest.New(t, "other")
	own := ca.ClientConfig(ca.Client("root"))
	// A file's certificate is shown whoever the server says that it trusts.
	foreign := ca.ClientConfig()
	foreign.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair := other.Client("root").Certificate
		return &pair, nil
	}
	secured := etcdtest.Start(t, etcdtest.Options{TLS: ca.Server(), ClientCA: ca.File, ClientTLS: own})
	misnamed := etcdtest.Start(t, etcdtest.Options{TLS: ca.Server("etcd.example"), ClientCA: ca.File, ClientTLS: own})
	plain := etcdtest.Start(t, etcdtest.Options{})
	expired := etcdtest.Start(t, etcdtest.Options{TLS: ca.ExpiredServer(), ClientCA: ca.File, ClientTLS: own})
	for name, c := range map[string]struct {
		server *etcdtest.Cluster
		client *tls.Config
		want   string
		told   int // warnings
	}{
		"wrong authority":         {secured, other.ClientConfig(other.Client("root")), "not signed by an authority that is trusted here", 1},
		"another name":            {misnamed, own, "its certificate is for another name", 1},
		"expired server":          {expired, own, "its certificate is not valid now", 1},
		"no client certificate":   {secured, ca.ClientConfig(), "certificate required", 0},
		"a foreign certificate":   {secured, foreign, "unknown certificate authority", 0},
		"an expired certificate":  {secured, ca.ClientConfig(ca.ExpiredClient("root")), "expired certificate", 0},
		"TLS to plain text":       {plain, own, "not speak TLS on that port", 1},
		"plain text to TLS":       {secured, nil, "it expects TLS: give --coord-ca", 0},
		"plain text, then a user": {secured, nil, "it expects TLS: give --coord-ca", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := etcd.Servers{Endpoints: c.server.Endpoints(), TLS: c.client}
			if name == "plain text, then a user" {
				servers.User, servers.Password = "u", secret
			}
			d := dial(t, servers, etcd.Config{})
			err := d.refused(c.want)
			if errors.Is(err, claims.ErrRefused) {
				t.Errorf("final: %v", err)
			}
			if n := d.log.count("WARN", c.want); n != c.told {
				t.Errorf("%d warnings, want %d:\n%s", n, c.told, d.log)
			}
		})
	}
}
