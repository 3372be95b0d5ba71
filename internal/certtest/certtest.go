// Package certtest makes certificates for tests: authorities, servers on loopback
// and clients, as PEM files and as configurations for crypto/tls. Keys are PKCS#8
// (ECDSA, P-256), which Java's servers read, too.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA is an authority.
type CA struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// File is the certificate in PEM.
	File string
	// Pool holds the certificate alone.
	Pool *x509.CertPool
}

// New makes an authority of that name, with files in a directory of the test's.
func New(t testing.TB, name string) *CA {
	t.Helper()
	ca := &CA{t: t, Pool: x509.NewCertPool()}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
		NotBefore:             time.Now().Add(-3 * time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
	}
	der, key := ca.sign(template)
	ca.key = key
	var err error
	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	ca.Pool.AddCert(ca.cert)
	ca.File = filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca.File, block("CERTIFICATE", der))
	return ca
}

// Pair is a certificate with its key.
type Pair struct {
	CertFile string // PEM
	KeyFile  string // PEM, PKCS#8
	// BothFile is the key and then the certificate, in one file of PEM.
	BothFile    string
	Certificate tls.Certificate
}

// Server makes a certificate for a server that is known by names; without any, by 127.0.0.1, ::1
// and localhost.
func (ca *CA) Server(names ...string) Pair {
	ca.t.Helper()
	return ca.pair(server(names), x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
}

// ExpiredServer makes one whose time is over.
func (ca *CA) ExpiredServer() Pair {
	ca.t.Helper()
	return ca.pair(expired(server(nil)), x509.ExtKeyUsageServerAuth)
}

// Client makes a certificate for a client whose common name is name.
func (ca *CA) Client(name string) Pair {
	ca.t.Helper()
	return ca.pair(client(name), x509.ExtKeyUsageClientAuth)
}

// ExpiredClient makes one whose time is over.
func (ca *CA) ExpiredClient(name string) Pair {
	ca.t.Helper()
	return ca.pair(expired(client(name)), x509.ExtKeyUsageClientAuth)
}

// Issue makes a certificate for whom the subject names, as a client, and as a server that is known
// by names and at addresses.
func (ca *CA) Issue(subject pkix.Name, names []string, addresses ...net.IP) Pair {
	ca.t.Helper()
	return ca.pair(&x509.Certificate{Subject: subject, DNSNames: names, IPAddresses: addresses}, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
}

// ServerConfig is a server's configuration. With clients, it demands a certificate
// that this authority has signed.
func (ca *CA) ServerConfig(p Pair, clients bool) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{p.Certificate}, MinVersion: tls.VersionTLS12}
	if clients {
		c.ClientCAs, c.ClientAuth = ca.Pool, tls.RequireAndVerifyClientCert
	}
	return c
}

// ClientConfig is the configuration of a client that trusts this authority alone and
// shows the certificates, if any.
func (ca *CA) ClientConfig(shown ...Pair) *tls.Config {
	c := &tls.Config{RootCAs: ca.Pool, MinVersion: tls.VersionTLS12}
	for _, p := range shown {
		c.Certificates = append(c.Certificates, p.Certificate)
	}
	return c
}

func server(names []string) *x509.Certificate {
	c := &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, DNSNames: names}
	if len(names) == 0 {
		c.DNSNames, c.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}
	return c
}

func client(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}}
}

func expired(c *x509.Certificate) *x509.Certificate {
	c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	return c
}

func (ca *CA) pair(template *x509.Certificate, usage ...x509.ExtKeyUsage) Pair {
	ca.t.Helper()
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = ca.cert.NotBefore, ca.cert.NotAfter
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, usage
	der, key := ca.sign(template)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		ca.t.Fatal(err)
	}
	cert, private := block("CERTIFICATE", der), block("PRIVATE KEY", secret)
	dir := ca.t.TempDir()
	p := Pair{
		CertFile: filepath.Join(dir, "cert.pem"),
		KeyFile:  filepath.Join(dir, "key.pem"),
		BothFile: filepath.Join(dir, "both.pem"),
	}
	write(ca.t, p.CertFile, cert)
	write(ca.t, p.KeyFile, private)
	write(ca.t, p.BothFile, append(private, cert...))
	if p.Certificate, err = tls.X509KeyPair(cert, private); err != nil {
		ca.t.Fatal(err)
	}
	return p
}

// sign returns a certificate, signed by the authority or, without one yet, by itself.
func (ca *CA) sign(template *x509.Certificate) (der []byte, key *ecdsa.PrivateKey) {
	ca.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		ca.t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		ca.t.Fatal(err)
	}
	template.SerialNumber = serial
	parent, signer := ca.cert, ca.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err = x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		ca.t.Fatal(err)
	}
	return der, key
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Keys makes a key to sign with and the one to verify with, in files of PEM.
func Keys(t testing.TB) (private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	private, public = filepath.Join(dir, "private.pem"), filepath.Join(dir, "public.pem")
	write(t, private, block("EC PRIVATE KEY", secret))
	write(t, public, block("PUBLIC KEY", shown))
	return private, public
}
