package secure_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

// serve answers one connection, by TLS if config is not nil, and closes it.
func serve(t *testing.T, config *tls.Config) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if config != nil {
			secured := tls.Server(conn, config)
			if secured.HandshakeContext(t.Context()) == nil {
				_, _ = secured.Write([]byte("x"))
			}
			return
		}
		_, _ = conn.Write([]byte("220 hello\r\n"))
		_, _ = conn.Read(make([]byte, 1024))
	}()
	return l.Addr().String()
}

// meet connects and reads a byte, as clients do.
func meet(t *testing.T, address string, config *tls.Config) error {
	t.Helper()
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return secure.Handshake(err)
	}
	defer conn.Close()
	_, err = io.ReadFull(conn, make([]byte, 1))
	return secure.Explain(err)
}

func TestEachMistakeIsNamed(t *testing.T) {
	ca, other := certtest.New(t, "ca"), certtest.New(t, "other")
	mutual := ca.ServerConfig(ca.Server(), true)
	old := ca.ServerConfig(ca.Server(), true)
	old.MaxVersion = tls.VersionTLS12
	good := ca.Client("c")
	pair := func(p certtest.Pair) secure.TLS {
		return secure.TLS{CA: ca.File, Cert: p.CertFile, Key: p.KeyFile}
	}
	for name, c := range map[string]struct {
		server *tls.Config
		client secure.TLS
		want   string
	}{
		"good":                  {mutual, pair(good), ""},
		"good, one file":        {mutual, secure.TLS{CA: ca.File, Cert: good.BothFile, Key: good.BothFile}, ""},
		"wrong authority":       {mutual, secure.TLS{CA: other.File}, "not signed by an authority that is trusted here: give the right one with --coord-ca"},
		"the system's":          {mutual, secure.TLS{Cert: good.CertFile, Key: good.KeyFile}, "not signed by an authority that is trusted here"},
		"expired server":        {ca.ServerConfig(ca.ExpiredServer(), false), secure.TLS{CA: ca.File}, "not valid now (only from "},
		"another name":          {ca.ServerConfig(ca.Server("other.example"), false), secure.TLS{CA: ca.File}, "name the server in --coord as its certificate does"},
		"no client certificate": {mutual, secure.TLS{CA: ca.File}, "certificate required"},
		"none, TLS 1.2":         {old, secure.TLS{CA: ca.File}, "client certificate"},
		"a foreign one":         {mutual, pair(other.Client("c")), "--coord-cert"},
		"an expired one":        {mutual, pair(ca.ExpiredClient("c")), "expired certificate"},
		"plain text":            {nil, secure.TLS{CA: ca.File}, "does not speak TLS on that port"},
	} {
		config, err := c.client.Config(nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		address := serve(t, c.server)
		err = meet(t, address, config)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "current time") {
			t.Errorf("%s: %v; want %q and no time of the day", name, err, c.want)
		}
		t.Logf("%s: %v", name, err)
	}
}

// A server that closes at once is one that does not speak TLS, perhaps; other errors
// stay what they are.
func TestHandshakeAndOthers(t *testing.T) {
	if err := secure.Handshake(io.EOF); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "may not speak TLS") {
		t.Error(err)
	}
	other := errors.New("other")
	if err := secure.Handshake(other); err != other {
		t.Error(err)
	}
	must.Do(t, secure.Explain(nil))
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	ca := certtest.New(t, "ca")
	pair, another := ca.Client("a"), ca.Client("b")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	must.Do(t, os.WriteFile(empty, []byte("nothing"), 0o600))
	for name, c := range map[string]struct {
		tls  secure.TLS
		want string
	}{
		"no authority":    {secure.TLS{CA: "/nowhere/ca.pem"}, "/nowhere/ca.pem"},
		"empty authority": {secure.TLS{CA: empty}, empty},
		"no certificate":  {secure.TLS{Cert: "/nowhere/cert.pem", Key: pair.KeyFile}, "/nowhere/cert.pem"},
		"no key":          {secure.TLS{Cert: pair.CertFile, Key: empty}, empty},
		"another's key":   {secure.TLS{Cert: pair.CertFile, Key: another.KeyFile}, "does not match"},
		"half a pair":     {secure.TLS{Cert: pair.CertFile}, "give both"},
		"the other half":  {secure.TLS{Key: pair.KeyFile}, "give both"},
	} {
		if config, err := c.tls.Config(nil); err == nil || config != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error with %q", name, config, err, c.want)
		}
	}
	if config, err := (secure.TLS{}).Config(nil); config != nil || err != nil {
		t.Errorf("no TLS: %v, %v", config, err)
	}
}

// The files are read for each connection; halves that do not fit, as there are while
// files are replaced, are told once and change nothing.
func TestReplacedCertificate(t *testing.T) {
	ca := certtest.New(t, "ca")
	first, second := ca.Client("first"), ca.Client("second")
	dir := t.TempDir()
	files := secure.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	replace := func(to, from string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		must.Do(t, err)
	}
	replace(files.Cert, first.CertFile)
	replace(files.Key, first.KeyFile)
	var log bytes.Buffer
	config := must.Get(files.Config(hclog.New(&hclog.LoggerOptions{Output: &log})))(t)
	shows := func(want string) {
		t.Helper()
		got, err := config.GetClientCertificate(&tls.CertificateRequestInfo{})
		if err != nil || got.Leaf.Subject.CommonName != want {
			t.Errorf("shows %v, %v; want %s", got.Leaf.Subject, err, want)
		}
	}
	shows("first")
	replace(files.Cert, second.CertFile)
	shows("first")
	shows("first")
	if n := strings.Count(log.String(), "WARN"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, &log)
	}
	replace(files.Key, second.KeyFile)
	shows("second")
}
