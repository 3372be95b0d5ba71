//go:build linux

package failures

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

// What is at the address that was given is not the server that is meant, or speaks it otherwise.
func TestTheWrongServerIsNamed(t *testing.T) {
	ca, other := certtest.New(t, "ca"), certtest.New(t, "other")
	pair := ca.Server()
	etcdPlain, etcdTLS := etcdtest.Start(t, etcdtest.Options{}), etcdtest.Start(t, etcdtest.Options{TLS: pair, ClientTLS: ca.ClientConfig()})
	peers := must.Get(etcdPlain.Client().MemberList(t.Context()))(t).Members[0].PeerURLs[0]
	zkPlain := zktest.Start(t, zktest.Options{TLS: &zktest.TLS{Cert: pair.CertFile, Key: pair.KeyFile}})
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	webTLS := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(webTLS.Close)
	webAddress := strings.TrimPrefix(web.URL, "http://")
	ours, theirs := secure.TLS{CA: ca.File}, secure.TLS{CA: other.File}
	misnamed := httptest.NewUnstartedServer(http.NotFoundHandler())
	misnamed.TLS = ca.ServerConfig(ca.Server("elsewhere.example"), false)
	misnamed.EnableHTTP2 = true // else it ends etcd's handshake before it shows its certificate
	misnamed.StartTLS()
	t.Cleanup(misnamed.Close)
	misnamedAddress := strings.TrimPrefix(misnamed.URL, "https://")
	for name, r := range map[string]struct {
		url  string
		tls  secure.TLS
		want string
	}{
		"etcd: nothing":                {urlOf("etcd", free(t)), secure.TLS{}, refused},
		"etcd: nothing, TLS":           {urlOf("etcd", free(t)), ours, refused},
		"etcd: no such name":           {urlOf("etcd", "no-such-host.invalid:2379"), secure.TLS{}, unnamed},
		"etcd: a web server":           {urlOf("etcd", webAddress), secure.TLS{}, notIt + "etcd"},
		"etcd: redis":                  {urlOf("etcd", redis(t)), secure.TLS{}, notIt + "etcd"},
		"etcd: ZooKeeper":              {urlOf("etcd", zkPlain.Addresses()[0]), secure.TLS{}, notIt + "etcd"},
		"etcd: silence":                {urlOf("etcd", silent(t)), secure.TLS{}, hangs + "etcd"},
		"etcd: hangs up":               {urlOf("etcd", hangsUp(t)), secure.TLS{}, notIt + "etcd"},
		"etcd: port of its peers":      {urlOf("etcd", strings.TrimPrefix(peers, "http://")), secure.TLS{}, notIt + "etcd"},
		"etcd: TLS is expected":        {urlOf("etcd", etcdTLS.Endpoint(0)), secure.TLS{}, wantsTLS},
		"etcd: TLS is not expected":    {urlOf("etcd", etcdPlain.Endpoint(0)), ours, noTLS},
		"etcd: another authority":      {urlOf("etcd", etcdTLS.Endpoint(0)), theirs, authority},
		"etcd: another name":           {urlOf("etcd", misnamedAddress), ours, otherName},
		"etcd: a web server with TLS":  {urlOf("etcd", strings.TrimPrefix(webTLS.URL, "https://")), secure.TLS{}, wantsTLS},
		"ZooKeeper: nothing":           {urlOf("zk", free(t)), secure.TLS{}, refused},
		"ZooKeeper: no such name":      {urlOf("zk", "no-such-host.invalid:2181"), secure.TLS{}, unnamed},
		"ZooKeeper: a web server":      {urlOf("zk", webAddress), secure.TLS{}, notIt + "ZooKeeper"},
		"ZooKeeper: redis":             {urlOf("zk", redis(t)), secure.TLS{}, notIt + "ZooKeeper"},
		"ZooKeeper: etcd":              {urlOf("zk", etcdPlain.Endpoint(0)), secure.TLS{}, notIt + "ZooKeeper"},
		"ZooKeeper: silence":           {urlOf("zk", silent(t)), secure.TLS{}, hangs + "ZooKeeper"},
		"ZooKeeper: hangs up":          {urlOf("zk", hangsUp(t)), secure.TLS{}, notIt + "ZooKeeper"},
		"ZooKeeper: TLS is expected":   {urlOf("zk", zkPlain.TLSAddresses()...), secure.TLS{}, wantsTLS},
		"ZooKeeper: TLS not expected":  {urlOf("zk", zkPlain.Addresses()...), ours, noTLS},
		"ZooKeeper: another authority": {urlOf("zk", zkPlain.TLSAddresses()...), theirs, authority},
		"ZooKeeper: another name":      {urlOf("zk", misnamedAddress), ours, otherName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, says(t, "a daemon that starts", r.want, open(t, r.url, r.tls).join),
				says(t, "status --cluster", r.want, func() error { return shown(t, r.url, r.tls) }))
		})
	}
}

// accepting has each connection of an address served by f.
func accepting(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var serving sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close() // the client has ended it
				f(conn)
			})
		}
	})
	return l.Addr().String()
}

func silent(t *testing.T) string {
	return accepting(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
}

func hangsUp(t *testing.T) string { return accepting(t, func(net.Conn) {}) }

// redis answers each line as Redis does one that has no command of its own.
func redis(t *testing.T) string {
	return accepting(t, func(conn net.Conn) {
		buffer := make([]byte, 64)
		if _, err := conn.Read(buffer); err == nil {
			_, _ = io.WriteString(conn, "-ERR unknown command\r\n")
		}
	})
}
