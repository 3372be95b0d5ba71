package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/internal/machine"
	"github.com/flakeward/flakeward/coord/secure"
)

// clocks asks servers what time it is, by the Date of an answer over HTTP: nothing in etcd's own
// protocol tells it. What is asked for, /version, takes neither a user nor a quorum.
//
// The servers are the endpoints that were configured, and not what the members announce as their
// client URLs. Those may be for other clients than this one: etcd's default is localhost, and in
// containers they are often names that nobody else knows. Endpoints are where this daemon is known
// to get through, with the names that the certificates are for.
type clocks struct {
	servers Servers
	own     func(netip.Addr) bool // an address is this machine's
}

// Clocks implements claims.Store.
func (s *store) Clocks(ctx context.Context, _ claims.Entry, clock clockguard.Clock) ([]claims.Shown, error) {
	return s.clocks.ask(ctx, clock), nil
}

// ask asks all servers that may be on other machines.
func (c *clocks) ask(ctx context.Context, clock clockguard.Clock) []claims.Shown {
	ctx, cancel := context.WithTimeout(ctx, claims.ClocksTimeout)
	defer cancel()
	answers := make([]claims.Shown, len(c.servers.Endpoints))
	local := make([]bool, len(answers))
	var all sync.WaitGroup
	for i, server := range c.servers.Endpoints {
		all.Go(func() {
			var err error
			if local[i], err = machine.Serves(ctx, server, c.own); err == nil && !local[i] {
				answers[i], err = c.exchange(ctx, server, clock)
			}
			if err != nil {
				answers[i] = claims.Shown{Err: fmt.Errorf("etcd: ask %s for the time: %w", server, err)}
			}
			answers[i].Server = server
		})
	}
	all.Wait()
	elsewhere := answers[:0]
	for i, answer := range answers {
		if !local[i] {
			elsewhere = append(elsewhere, answer)
		}
	}
	return elsewhere
}

// exchange asks one server.
func (c *clocks) exchange(ctx context.Context, server string, clock clockguard.Clock) (claims.Shown, error) {
	url, certificate := "http://"+server+"/version", checkLater(server, c.servers.Current.TLS(c.servers.TLS))
	if certificate != nil {
		url = "https://" + server + "/version"
	}
	transport := &http.Transport{
		DialContext:            new(net.Dialer).DialContext,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 16 << 10,
		TLSClientConfig:        certificate.config(),
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // no HTTP/2: gRPC serves that, without a Date
	}
	defer transport.CloseIdleConnections()
	shown := claims.Shown{Unit: time.Second}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { shown.Sent = clock.Now().Mono },
	}), http.MethodGet, url, nil)
	if err != nil {
		return claims.Shown{}, err
	}
	response, err := transport.RoundTrip(request)
	shown.Answered = clock.Now().Mono
	if err != nil {
		return claims.Shown{}, unanswered(err)
	}
	_ = response.Body.Close() // nobody wants it
	if response.StatusCode != http.StatusOK {
		return claims.Shown{}, fmt.Errorf("it answers %s: %s", response.Status, otherPlace)
	}
	if shown.Time, err = parseDate(response.Header.Get("Date")); err == nil && certificate != nil {
		err = secure.Explain(certificate.check(response.TLS, shown.Time))
	}
	return shown, err
}

// otherPlace is why a server may have no page that tells the time.
const otherPlace = "it may serve HTTP at another address (--listen-client-http-urls), or be no server of etcd's own"

// unanswered says what it may mean that there is no answer over HTTP. A server that speaks gRPC alone
// answers in frames of HTTP/2, or ends the connection.
func unanswered(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), "malformed HTTP") {
		return fmt.Errorf("it does not answer over HTTP/1.1: %s (%w)", otherPlace, err)
	}
	return secure.Explain(err)
}

// parseDate reads the Date of an answer.
func parseDate(date string) (time.Time, error) {
	if date == "" {
		return time.Time{}, errors.New("its answer has no Date")
	}
	shown, err := http.ParseTime(date)
	if err != nil {
		return time.Time{}, fmt.Errorf("its answer has the Date %.40q, which is none", date)
	}
	return shown, nil
}

// lateCheck is a TLS configuration with which a server's certificate is checked once its answer is
// there, for the time that the answer tells. To check it by this machine's clock would be to ask
// nobody just when that clock is wrong: by one that is years ahead, every certificate has expired.
type lateCheck struct {
	*tls.Config
	name string // that the certificate must be for
}

// checkLater returns nil without TLS.
func checkLater(server string, config *tls.Config) *lateCheck {
	if config == nil {
		return nil
	}
	name, _, _ := net.SplitHostPort(server) // Serves has split it before
	return &lateCheck{config, name}
}

// config is what the connection is made with. Nothing secret is sent on it.
func (l *lateCheck) config() *tls.Config {
	if l == nil {
		return nil
	}
	config := l.Clone()
	config.InsecureSkipVerify = true // check does it
	config.ServerName, config.NextProtos = l.name, nil
	return config
}

// check is what a client does in the handshake otherwise.
func (l *lateCheck) check(state *tls.ConnectionState, now time.Time) error {
	switch {
	case l.InsecureSkipVerify:
		return nil
	case state == nil || len(state.PeerCertificates) == 0:
		return errors.New("it showed no certificate")
	}
	options := x509.VerifyOptions{Roots: l.RootCAs, DNSName: l.name, CurrentTime: now, Intermediates: x509.NewCertPool()}
	for _, above := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(above)
	}
	_, err := state.PeerCertificates[0].Verify(options)
	return err
}
