//go:build e2e

package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// apiServer is where the API server listens.
const apiServer = nodeAddress + ":6443"

// pki is the authority of one cluster. Its files are NAME.crt, NAME.key and NAME.conf in dir.
type pki struct {
	dir    string
	ca     *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

// newPKI makes the authority, and the key of service accounts.
func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &pki{dir: dir}
	p.ca = p.template(pkix.Name{CommonName: "kube"})
	p.ca.IsCA, p.ca.BasicConstraintsValid = true, true
	p.ca.KeyUsage |= x509.KeyUsageCertSign
	var err error
	if p.key, err = p.write("ca", p.ca, nil); err != nil {
		return nil, err
	}
	_, err = p.write("accounts", p.template(pkix.Name{CommonName: "accounts"}), nil)
	return p, err
}

func (p *pki) path(file string) string { return filepath.Join(p.dir, file) }

func (p *pki) template(name pkix.Name) *x509.Certificate {
	p.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(p.serial),
		Subject:      name,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// issue makes a certificate, its key, and what a client of the API server reads to use them.
func (p *pki) issue(file, user string, groups []string, names []string, addresses ...string) error {
	c := p.template(pkix.Name{CommonName: user, Organization: groups})
	c.DNSNames = names
	for _, a := range addresses {
		c.IPAddresses = append(c.IPAddresses, net.ParseIP(a))
	}
	if _, err := p.write(file, c, p.key); err != nil {
		return err
	}
	return os.WriteFile(p.path(file+".conf"), fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority: %s}}]
users: [{name: u, user: {client-certificate: %s, client-key: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, apiServer, p.path("ca.crt"), p.path(file+".crt"), p.path(file+".key")), 0o600)
}

// write signs by the given key, or by the certificate's own.
func (p *pki) write(file string, c *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	parent := p.ca
	if by == nil {
		parent, by = c, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	for name, block := range map[string]*pem.Block{
		file + ".crt": {Type: "CERTIFICATE", Bytes: signed},
		file + ".key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(p.path(name), pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, err
		}
	}
	return key, nil
}
