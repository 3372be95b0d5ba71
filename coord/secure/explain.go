package secure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/flakeward/flakeward/coord"
)

// Explain returns what an error of a TLS connection means and what operators can do, with the error
// wrapped; other errors it returns as they are. The text is the same for the same mistake, at
// whatever time and server. The errors of a connection's first reads are as telling as those of its
// handshake: a server that refuses a client's certificate says so only then.
func Explain(err error) error {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		host    x509.HostnameError
		roots   x509.SystemRootsError
		plain   tls.RecordHeaderError
		remote  *net.OpError
	)
	hint, detail := "", ""
	if err != nil {
		detail = " (" + err.Error() + ")"
	}
	switch {
	case errors.As(err, &unknown), errors.As(err, &roots):
		hint = "its certificate is not signed by an authority that is trusted here: give the right one with --coord-ca"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		hint = "its certificate is not valid now (" + span(invalid.Cert) + "): renew it, or set the clock of this host right"
		detail = "" // it has the time of the day
	case errors.As(err, &invalid):
		hint = "its certificate is not valid"
	case errors.As(err, &host):
		hint = "its certificate is for another name: name the server in --coord as its certificate does"
	case errors.As(err, &plain):
		hint = "it does not speak TLS on that port: leave out --coord-ca and --coord-cert, or use its port for TLS"
	case errors.As(err, &remote) && remote.Op == "remote error" && refuses(remote.Err):
		hint = "it refuses this client: give a client certificate that it trusts, and that has not expired, with --coord-cert and --coord-key; they are read again for each connection"
		err = errors.Join(coord.ErrLogin, err)
	}
	if hint == "" {
		return err
	}
	return &explained{hint + detail, err}
}

// refusals are the alerts by which a server refuses a client: RFC 8446, 6.2, and RFC 5246, 7.2.2.
// Before TLS 1.3 a certificate that is missing is only a failed handshake, the first of them.
var refusals = []tls.AlertError{40, 42, 43, 44, 45, 46, 48, 116}

// refuses finds an alert by its text: the library does not export those of a connection over TCP.
func refuses(alert error) bool {
	return slices.ContainsFunc(refusals, func(r tls.AlertError) bool { return r.Error() == alert.Error() })
}

func span(c *x509.Certificate) string {
	if c == nil {
		return "expired"
	}
	return fmt.Sprintf("only from %s to %s", c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
}

type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// Mistake is true for an error that was explained: what is wrong is not that the server is away.
func Mistake(err error) bool {
	var e *explained
	return errors.As(err, &e)
}

// Handshake explains the error of a handshake. A server that closes the connection
// during it may not speak TLS, too.
func Handshake(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &explained{"it closed the connection during the TLS handshake: it may not speak TLS on that port", err}
	}
	return Explain(err)
}
