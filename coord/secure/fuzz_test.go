package secure_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

// FuzzFiles: files of certificates make a configuration that has what they hold, or an error that
// names the file, and says nothing of what is in it.
func FuzzFiles(f *testing.F) {
	ca := certtest.New(f, "ca")
	pair := ca.Client("c")
	content := func(path string) []byte {
		return must.Get(os.ReadFile(path))(f)
	}
	authority, cert, key := content(ca.File), content(pair.CertFile), content(pair.KeyFile)
	f.Add(authority, cert, key)
	f.Add(cert, key, cert)
	f.Add([]byte("no PEM"), cert, []byte("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"))
	f.Add([]byte("no PEM"), cert, key)
	f.Add(authority, append(cert, authority...), key)
	f.Add([]byte{}, []byte{}, []byte{})
	dir := f.TempDir()
	paths := secure.TLS{CA: filepath.Join(dir, "ca"), Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	f.Fuzz(func(t *testing.T, authority, cert, key []byte) {
		for path, content := range map[string][]byte{paths.CA: authority, paths.Cert: cert, paths.Key: key} {
			must.Do(t, os.WriteFile(path, content, 0o600))
		}
		config, err := paths.Config(nil)
		if err != nil {
			text := err.Error()
			for line := range strings.Lines(string(key)) {
				if line = strings.TrimSpace(line); len(line) > 40 && strings.Contains(text, line) {
					t.Errorf("the error shows a line of the key: %s", text)
				}
			}
			if config != nil || !strings.Contains(text, paths.CA) && !strings.Contains(text, paths.Cert) || len(text) > 1000 {
				t.Errorf("%d bytes of error: %.300s", len(text), text)
			}
			return
		}
		shown, err := config.GetClientCertificate(new(tls.CertificateRequestInfo))
		if err != nil || len(shown.Certificate) == 0 || shown.PrivateKey == nil || config.RootCAs.Equal(x509.NewCertPool()) {
			t.Errorf("nothing is shown or nobody trusted: %+v, %v", shown, err)
		}
	})
}
