// Package secure makes the TLS configuration of a coordinator's client from files,
// and says in words what is wrong with a TLS connection.
package secure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// TLS says whether and how servers are spoken to encrypted: they are if any of it is given.
type TLS struct {
	// CA is a file of PEM with the certificates of the authorities that may have
	// signed the servers'; the system's authorities if empty. It is read by Config.
	CA string
	// Cert and Key are files of PEM with the client certificate and its key. They are read again
	// for each connection, so that they can be replaced while the daemon runs.
	Cert string
	Key  string
}

// Wanted is true if connections are to be encrypted.
func (t TLS) Wanted() bool { return t != TLS{} }

// Check returns an error if the settings contradict each other. It reads nothing.
func (t TLS) Check() error {
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("a client certificate needs both its file and its key's: give both or neither")
	}
	return nil
}

// Config reads the files. It returns nil if no TLS is wanted, and an error that names
// the file that cannot be used. What later prevents the client certificate from being
// read again is told to log, and the last one that could be read is used on.
func (t TLS) Config(log hclog.Logger) (*tls.Config, error) {
	if !t.Wanted() {
		return nil, nil
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("the file of the authorities cannot be read: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("the file of the authorities, %s, holds no certificate in PEM", t.CA)
		}
	}
	if t.Cert != "" {
		if log == nil {
			log = hclog.NewNullLogger()
		}
		own := &ownCertificate{cert: t.Cert, key: t.Key, log: log}
		if err := own.read(); err != nil {
			return nil, err
		}
		config.GetClientCertificate = own.get
	}
	return config, nil
}

// ownCertificate is the client certificate as it was read last.
type ownCertificate struct {
	cert, key string
	log       hclog.Logger

	mu   sync.Mutex
	last *tls.Certificate
	said string // what prevented it from being read the last time
}

func (o *ownCertificate) read() error {
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return fmt.Errorf("the client certificate %s with the key %s cannot be used: %w", o.cert, o.key, err)
	}
	o.last = &pair
	return nil
}

// get is called for each connection. While the files are being replaced they may not
// fit each other.
func (o *ownCertificate) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	said := ""
	if err := o.read(); err != nil {
		if said = err.Error(); said != o.said {
			o.log.Warn("cannot reload the client certificate; using the last one", "error", err)
		}
	}
	o.said = said
	return o.last, nil
}
