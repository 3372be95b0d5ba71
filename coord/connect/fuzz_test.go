package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// FuzzSecret: a password in a URL is in no error and in nothing that is shown, whatever surrounds
// it.
func FuzzSecret(f *testing.F) {
	f.Add("etcd", "u", "h1:2379/a")
	f.Add("zk", "u%3A", "h1,[::1]:x")
	f.Add("etcd", "", "%zz@h1/%zz")
	f.Add("http", "u", "h1?x=1#y")
	f.Fuzz(func(t *testing.T, scheme, user, rest string) {
		const secret = "gEh3im"
		if strings.Contains(user, "/") || strings.Contains(scheme+user+rest, secret) || strings.Contains(scheme, ":") {
			return // it is no password then
		}
		description, err := Describe(scheme + "://" + user + ":" + secret + "@" + rest)
		if strings.Contains(description.Text, secret) || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("shown as %+v, %v", description, err)
		}
	})
}

// FuzzPassword: what is taken from a file is its only line, whole; an error says nothing of what is
// in it.
func FuzzPassword(f *testing.F) {
	path := filepath.Join(f.TempDir(), "password")
	refusal := func(content string) string {
		must.Do(f, os.WriteFile(path, []byte(content), 0o600))
		_, err := ReadPassword(path, nil)
		if err == nil {
			f.Fatalf("%.20q is taken", content)
		}
		return err.Error()
	}
	lines, long := refusal("a\nb"), refusal(strings.Repeat("a", maxPassword+1))
	for _, content := range []string{"", "geheim", "geheim\r\n", "\n\n", "a\nb", "a\x00", "\xff\n", " geheim \n"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
		password, err := ReadPassword(path, nil)
		if err != nil {
			if text := err.Error(); password != "" || text != lines && text != long {
				t.Errorf("%q is refused with %q, %q", content, text, password)
			}
			return
		}
		end, ok := strings.CutPrefix(content, password)
		if !ok || password == "" || strings.Trim(end, "\r\n") != "" || strings.ContainsAny(password, "\r\n\x00") || len(content) > maxPassword {
			t.Errorf("%q holds the password %q", content, password)
		}
	})
}
