package zk_test

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	ours, foreign := certtest.New(t, "ours"), certtest.New(t, "foreign")
	pair := ours.Server()
	e := zktest.Start(t, zktest.Options{TLS: &zktest.TLS{Cert: pair.CertFile, Key: pair.KeyFile, ClientCA: ours.File}})
	right := ours.ClientConfig(ours.Client("c"))
	misnamed := right.Clone()
	misnamed.ServerName = "elsewhere.example"
	for name, c := range map[string]struct {
		tls       *tls.Config
		addresses []string
		want      string // of the error; empty: it works
	}{
		"right":                       {right, e.TLSAddresses(), ""},
		"wrong CA":                    {foreign.ClientConfig(ours.Client("c")), e.TLSAddresses(), "--coord-ca"},
		"another name":                {misnamed, e.TLSAddresses(), "--coord-server-name"},
		"no client certificate":       {ours.ClientConfig(), e.TLSAddresses(), "--coord-cert"},
		"foreign client certificate":  {ours.ClientConfig(foreign.Client("c")), e.TLSAddresses(), "--coord-cert"},
		"plain text to a port of TLS": {nil, e.TLSAddresses(), "TLS"},
		"TLS to a port of plain text": {right, e.Addresses(), "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log logged
			servers := zk.Servers{Addresses: c.addresses, TLS: c.tls, User: user, Password: password, Chroot: "/tls/" + strings.ReplaceAll(name, " ", "-")}
			timeout := 2 * time.Second // for what is refused anyway
			if c.want == "" {
				timeout = zk.DefaultTryTimeout
			}
			coordinator, l := dial(t, servers, zk.Config{Identity: identity(), TryTimeout: timeout, Log: log.At(hclog.Trace)}), &zk.Line{}
			l.Tap(coordinator)
			_, err := coordinator.Join(t.Context(), layout)
			if c.want == "" {
				must.Do(t, err)
				claim := claimed(t, coordinator, 3)
				l.Cut()
				eventually(t, "the claim is extended", func() bool { return claim.Extend(t.Context(), coord.Progress{Ceiling: 10}) == nil })
				return
			}
			if err == nil {
				t.Fatal("joined")
			}
			for _, want := range []string{c.want, c.addresses[0], "read the layout"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if log.count("s3cret") > 0 || strings.Contains(err.Error(), "s3cret") {
				t.Error("the password is told")
			}
		})
	}
}

// Each server must prove the name that was configured for it, not its address.
func TestServerNameIsTheHost(t *testing.T) {
	t.Parallel()
	ours := certtest.New(t, "ours")
	pair := ours.Server("zk1.invalid")
	e := zktest.Start(t, zktest.Options{TLS: &zktest.TLS{Cert: pair.CertFile, Key: pair.KeyFile}})
	for host, ok := range map[string]bool{"zk1.invalid": true, "zk2.invalid": false} {
		timeout := zk.DefaultTryTimeout
		if !ok {
			timeout = time.Second
		}
		servers := zk.Servers{Addresses: []string{host + ":2281"}, TLS: ours.ClientConfig()}
		c, l := dial(t, servers, zk.Config{Identity: identity(), TryTimeout: timeout}), &zk.Line{Address: e.TLSAddresses()[0]}
		l.Tap(c)
		if _, err := c.Join(t.Context(), layout); (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// What answers is not believed to be ZooKeeper, whatever length it claims.
func TestStrangeServers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"text":              "HTTP/1.1 400 Bad Request\r\n\r\n",
		"an alert":          "\x15\x03\x03\x00\x02\x02\x46",
		"too short":         "\x00\x00\x00\x04abcd",
		"not complete":      "\x00\x00\x00\x25\x00\x00\x00\x00\x00\x00",
		"nothing":           "",
		"no timeout":        "\x00\x00\x00\x24" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x10" + strings.Repeat("p", 16),
		"no timeout either": "\x00\x00\x00\x24" + "\x00\x00\x00\x00" + "\xff\xff\xff\xff" + "\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x10" + strings.Repeat("p", 16),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			var done sync.WaitGroup
			t.Cleanup(func() {
				_ = l.Close()
				done.Wait()
			})
			done.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 100))
					_, _ = conn.Write([]byte(answer))
					_ = conn.Close()
				}
			})
			c := dial(t, zk.Servers{Addresses: []string{l.Addr().String()}}, zk.Config{Identity: identity(), TryTimeout: 300 * time.Millisecond})
			want := "what listens there is not ZooKeeper"
			if name == "an alert" {
				want = "it expects TLS: give --coord-tls"
			}
			if _, err := c.Join(t.Context(), layout); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), l.Addr().String()) {
				t.Errorf("%v", err)
			}
		})
	}
}
