package tcp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

func TestAnAddressThatOtherHostsCanReachNeedsAPassword(t *testing.T) {
	for _, tt := range []struct {
		config Config
		flag   string // that is complained of
	}{
		{Config{}, ""},
		{Config{Address: "127.0.0.1:1"}, ""},
		{Config{Address: "127.1.2.3:1"}, ""},
		{Config{Address: "[::1]:1"}, ""},
		{Config{Address: "localhost:1", PasswordFile: "p"}, ""},
		{Config{Address: "LocalHost.:1"}, ""},
		{Config{Address: ":1"}, "listen"},
		{Config{Address: "0.0.0.0:1"}, "listen"},
		{Config{Address: "[::]:1"}, "listen"},
		{Config{Address: "10.0.0.1:1"}, "listen"},
		{Config{Address: "example.org:1"}, "listen"},
		{Config{Address: ":1", PasswordFile: "p"}, ""},
		{Config{Address: "127.0.0.1"}, "listen"},
		{Config{PasswordFile: "p"}, "password-file"},
	} {
		var flags []string
		tt.config.Validate(func(flag, format string, args ...any) {
			flags = append(flags, flag)
			if text := fmt.Sprintf(format, args...); strings.Contains(text, "%!") {
				t.Error(text)
			}
		})
		if strings.Join(flags, ",") != tt.flag {
			t.Errorf("%+v: complains of %q, want %q", tt.config, flags, tt.flag)
		}
	}
}

// The name localhost may lead anywhere: what counts is where the daemon listens.
func TestANameThatDoesNotLeadToTheLoopbackIsRefused(t *testing.T) {
	for _, tt := range []struct {
		file, leads string
		opens       bool
	}{
		{"", "127.0.0.1:0", true},
		{"", "0.0.0.0:0", false},
		{write(t, "secret"), "0.0.0.0:0", true},
	} {
		s := must.Get(New(Config{Address: "localhost:0", PasswordFile: tt.file}))(t)
		s.listen = func(network, _ string) (net.Listener, error) { return net.Listen(network, tt.leads) }
		l, err := s.Listen()
		switch {
		case (err == nil) != tt.opens:
			t.Errorf("%+v: %v", tt, err)
		case err == nil:
			_ = l.Close() // it has nothing to lose
		case !errors.Is(err, ErrNotLocal) || !strings.Contains(err.Error(), "localhost:0") || !strings.Contains(err.Error(), "--password-file"):
			t.Error(err)
		}
	}
}

// write makes a file with a password that nobody else can read.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAPasswordFileThatIsEmptyOrThatOthersCanReadIsRefused(t *testing.T) {
	for text, refused := range map[string]bool{"secret": false, "secret\n": false, "a b:c": false, "": true, "\n": true, "one\ntwo\n": true} {
		path := write(t, text)
		if _, err := New(Config{Address: ":0", PasswordFile: path}); (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "--password-file") {
			t.Errorf("%q: %v", text, err)
		}
	}
	path := write(t, "secret")
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o620: true, 0o602: true} {
		must.Do(t, os.Chmod(path, mode))
		if _, err := New(Config{Address: ":0", PasswordFile: path}); (err != nil) != refused || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("mode %#o: %v", mode, err)
		}
	}
	if _, err := New(Config{Address: ":0", PasswordFile: path + "x"}); err == nil {
		t.Error("a file that is missing is accepted")
	}
}

// The kubelet gives a secret to root and to the pod's group, which the daemon is in.
func TestTheGroupOfARootsFileMayReadThePassword(t *testing.T) {
	need.Root(t) // only root can give a file to another user
	path := write(t, "secret")
	must.Do(t, os.Chown(path, 12345, os.Getegid()), os.Chmod(path, 0o440))
	if _, err := New(Config{Address: ":0", PasswordFile: path}); err != nil {
		t.Error(err)
	}
	must.Do(t, os.Chmod(path, 0o444))
	if _, err := New(Config{Address: ":0", PasswordFile: path}); err == nil {
		t.Error("a file that everybody can read is accepted")
	}
}

// refused is the code with which a request is refused; empty: it is answered.
func refused(t *testing.T, s *Server, target string, ids bool, fields ...string) string {
	t.Helper()
	r := must.Get(http.NewRequest("GET", target, nil))(t)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	if refusal := s.Refuse(r, ids); refusal != nil {
		return refusal.Code
	}
	return ""
}

func TestAPasswordIsAskedForExceptByProbesAndMonitoring(t *testing.T) {
	file := write(t, "s3cret word\n")
	s := must.Get(New(Config{Address: "127.0.0.1:0", PasswordFile: file}))(t)
	with := func(user, password string) string {
		r := must.Get(http.NewRequest("GET", "/", nil))(t)
		r.SetBasicAuth(user, password)
		return refused(t, s, "http://10.0.0.1:7070/v1/ids", true, "Authorization", r.Header.Get("Authorization"))
	}
	for user, password := range map[string]string{"": "s3cret word", "default": "s3cret word", "x": "s3cret word"} {
		if got := with(user, password); got != "" {
			t.Errorf("user %q with the password: %s", user, got)
		}
	}
	for _, wrong := range []string{"", "s3cret", "s3cret word\n", "S3cret word"} {
		if got := with("default", wrong); got != "no-auth" {
			t.Errorf("password %q: %q", wrong, got)
		}
	}
	for _, field := range []string{"", "Basic", "Basic x", "Bearer s3cret word", "s3cret word"} {
		if got := refused(t, s, "http://10.0.0.1/v1/status", false, "Authorization", field); got != "no-auth" {
			t.Errorf("Authorization: %s: %q", field, got)
		}
	}
	for path, want := range map[string]string{"/livez": "", "/readyz": "", "/metrics": "", "/": "no-auth", "/metrics/": "no-auth", "/flakeward.v1.IdService/Next": "no-auth", "/v1/openapi.json": "no-auth"} {
		if got := refused(t, s, "http://10.0.0.1"+path, false); got != want {
			t.Errorf("%s without a password: %q, want %q", path, got, want)
		}
	}
	must.Do(t, os.WriteFile(file, []byte("another"), 0o600))
	if err := s.Reload(); err != nil || with("", "another") != "" || with("", "s3cret word") == "" {
		t.Errorf("the new password is not the one that counts: %v", err)
	}
	must.Do(t, os.WriteFile(file, nil, 0o600))
	if err := s.Reload(); err == nil || with("", "another") != "" || with("", "") == "" {
		t.Errorf("after an empty file (%v) the last password does not count", err)
	}
}

func TestWithoutAPasswordOnlyThisHostsNamesLeadHere(t *testing.T) {
	s := must.Get(New(Config{Address: "127.0.0.1:0"}))(t)
	for host, want := range map[string]bool{
		"localhost": true, "localhost:7070": true, "LOCALHOST": true, "localhost.": true, "LocalHost.:7070": true,
		"127.0.0.1:7070": true, "127.0.0.1.": true, "127.7.7.7": true, "[::1]:7070": true, "[::1]": true, "[::ffff:127.0.0.1]": true,
		"evil.example": false, "evil.example:7070": false, "": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"10.0.0.1": false, "0.0.0.0": false, "[::]": false, "localhost..": false, "127.0.0.1@evil.example": false,
	} {
		r := &http.Request{Host: host, URL: &url.URL{Path: "/v1/status"}}
		if got := s.Refuse(r, false) == nil; got != want {
			t.Errorf("%q: answered is %v", host, got)
		}
	}
}

// A page in a browser can have it send requests to this host, and with the password that the user
// gave: no ID is issued for a page of another site.
func TestAPageOfAnotherSiteGetsNoIDs(t *testing.T) {
	password := must.Get(http.NewRequest("GET", "/", nil))(t)
	password.SetBasicAuth("x", "secret")
	for name, file := range map[string]string{"nothing": "", "a password": write(t, "secret")} {
		s := must.Get(New(Config{Address: "127.0.0.1:0", PasswordFile: file}))(t)
		for _, tt := range []struct {
			site, origin string
			foreign      bool
		}{
			{"", "", false}, {"none", "", false}, {"same-origin", "http://127.0.0.1:7070", false}, {"", "HTTP://127.0.0.1:7070", false},
			{"same-site", "", true}, {"cross-site", "", true}, {"other", "", true},
			{"", "http://127.0.0.1", true}, {"", "http://127.0.0.1:8080", true}, {"", "https://evil.example", true}, {"", "null", true}, {"", "%", true},
		} {
			for path, ids := range map[string]bool{"/v1/ids": true, "/flakeward.v1.IdService/Next": false, "/v1/status": false} {
				fields := []string{"Authorization", password.Header.Get("Authorization")}
				if tt.site != "" {
					fields = append(fields, "Sec-Fetch-Site", tt.site)
				}
				if tt.origin != "" {
					fields = append(fields, "Origin", tt.origin)
				}
				want := ""
				if tt.foreign && path != "/v1/status" {
					want = "not-here"
				}
				if got := refused(t, s, "http://127.0.0.1:7070"+path, ids, fields...); got != want {
					t.Errorf("with %s, %q of %q from %q: %q, want %q", name, path, tt.site, tt.origin, got, want)
				}
			}
		}
	}
}
