package zk_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/secure"
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
	for name, c := range map[string]struct {
		tls       *tls.Config
		addresses []string
		want      string // of the error; empty: it works
	}{
		"right":                       {right, e.TLSAddresses(), ""},
		"wrong CA":                    {foreign.ClientConfig(ours.Client("c")), e.TLSAddresses(), "--coord-ca"},
		"no client certificate":       {ours.ClientConfig(), e.TLSAddresses(), "--coord-cert"},
		"foreign client certificate":  {ours.ClientConfig(foreign.Client("c")), e.TLSAddresses(), "--coord-cert"},
		"plain text to a port of TLS": {nil, e.TLSAddresses(), "TLS"},
		"TLS to a port of plain text": {right, e.Addresses(), "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log logged
			servers := zk.Servers{Addresses: c.addresses, TLS: c.tls, User: user, Password: password, Chroot: "/tls/" + strings.ReplaceAll(name, " ", "-")}
			coordinator, l := dial(t, servers, zk.Config{Identity: identity(), TryTimeout: zk.DefaultTryTimeout, Log: log.At(hclog.Trace)}), &zk.Line{}
			l.Tap(coordinator)
			_, err := coordtest.CreateAndJoin(t.Context(), coordinator, layout)
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
		if _, err := coordtest.CreateAndJoin(t.Context(), c, layout); (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
	byAddress := dial(t, zk.Servers{Addresses: e.TLSAddresses(), TLS: ours.ClientConfig()}, zk.Config{Identity: identity(), TryTimeout: time.Second})
	if _, err := coordtest.CreateAndJoin(t.Context(), byAddress, layout); err == nil || !strings.Contains(err.Error(), "its certificate is for another name") {
		t.Errorf("by its address: %v", err)
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
				want = "it expects TLS: give --coord-ca"
			}
			if _, err := coordtest.CreateAndJoin(t.Context(), c, layout); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), l.Addr().String()) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Certificates and authorities are replaced at the servers and here: each connection is made with
// what is there then, and authorities are read again when the daemon is told to. ZooKeeper 3.8.0
// reads its own at its start.
func TestCertificatesReplaced(t *testing.T) {
	t.Parallel()
	first, second := certtest.New(t, "first"), certtest.New(t, "second")
	pair := first.Server()
	e := zktest.Start(t, zktest.Options{MaxSession: time.Hour, TLS: &zktest.TLS{Cert: pair.CertFile, Key: pair.KeyFile, ClientCA: first.File}})
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	put := func(to, from string) { must.Do(t, os.WriteFile(to, must.Get(os.ReadFile(from))(t), 0o600)) }
	client := func(p certtest.Pair) {
		put(in("cert.pem"), p.CertFile)
		put(in("key.pem"), p.KeyFile)
	}
	server := func(p certtest.Pair) {
		e.Stop()
		put(filepath.Join(filepath.Dir(e.Data(0)), "keystore.pem"), p.BothFile)
		e.Start()
	}
	client(first.Client("c"))
	put(in("ca.pem"), first.File)
	files := secure.TLS{CA: in("ca.pem"), Cert: in("cert.pem"), Key: in("key.pem")}
	current := &secure.Current{}
	c, l := joined(t, zk.Servers{Addresses: e.TLSAddresses(), TLS: must.Get(files.Config(nil))(t), Current: current, Chroot: "/certificates"},
		zk.Config{Timeout: 10 * time.Minute, TryTimeout: 10 * time.Second})
	claim := claimed(t, c, 3)
	extend := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		return claim.Extend(ctx, coord.Progress{Ceiling: 100})
	}
	must.Do(t, extend())
	says := func(want, after string) {
		t.Helper()
		eventually(t, want+" after "+after, func() bool {
			err := extend()
			return err != nil && strings.Contains(err.Error(), want)
		})
	}
	works := func(after string) {
		t.Helper()
		eventually(t, "the claim is extended after "+after, func() bool {
			err := extend()
			if errors.Is(err, coord.ErrLost) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	client(first.ExpiredClient("c"))
	l.Cut()
	says("client certificate", "its end")
	client(first.Client("c"))
	works("another client certificate")
	server(first.ExpiredServer())
	says("its certificate is not valid now", "the end of the server's")
	server(first.Server())
	works("another certificate of the server")
	server(second.Server())
	says("not signed by an authority that is trusted here", "a change of the server's authority")
	put(in("ca.pem"), second.File)
	current.Set(must.Get(files.Config(nil))(t), "")
	works("the authorities were read again")
}
