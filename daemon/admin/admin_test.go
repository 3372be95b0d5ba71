package admin

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

	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

func TestWhereAnybodyCouldAskTheAddressIsRefused(t *testing.T) {
	tls := Config{Cert: "c", Key: "k"}
	for _, tt := range []struct {
		config Config
		flag   string // that is complained of
	}{
		{Config{}, ""},
		{Config{Address: "127.0.0.1:1"}, ""},
		{Config{Address: "[::1]:1", IDs: true}, ""},
		{Config{Address: "localhost:1", TokenFile: "t"}, ""},
		{Config{Address: ":1"}, "admin"},
		{Config{Address: "0.0.0.0:1"}, "admin"},
		{Config{Address: "10.0.0.1:1", TokenFile: "t"}, "admin"},
		{Config{Address: "10.0.0.1:1", Cert: tls.Cert, Key: tls.Key}, "admin"},
		{Config{Address: "10.0.0.1:1", Cert: tls.Cert, Key: tls.Key, TokenFile: "t"}, ""},
		{Config{Address: "10.0.0.1:1", Cert: tls.Cert, Key: tls.Key, ClientCA: "a"}, ""},
		{Config{Address: "10.0.0.1:1", Cert: tls.Cert}, "admin-key"},
		{Config{Address: "127.0.0.1:1", Key: tls.Key}, "admin-cert"},
		{Config{Address: "127.0.0.1:1", ClientCA: "a"}, "admin-cert"},
		{Config{Address: "127.0.0.1"}, "admin"},
		{Config{IDs: true}, "admin-ids"},
		{Config{TokenFile: "t"}, "admin-token-file"},
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
	pair := certtest.New(t, "one").Server()
	token := write(t, "0123456789abcdef")
	for _, tt := range []struct {
		config Config
		leads  string
		opens  bool
	}{
		{Config{}, "127.0.0.1:0", true},
		{Config{TokenFile: token}, "127.0.0.1:0", true},
		{Config{}, "0.0.0.0:0", false},
		{Config{TokenFile: token}, "0.0.0.0:0", false},
		{Config{Cert: pair.CertFile, Key: pair.KeyFile}, "0.0.0.0:0", false},
		{Config{Cert: pair.CertFile, Key: pair.KeyFile, TokenFile: token}, "0.0.0.0:0", true},
	} {
		tt.config.Address = "localhost:0"
		s := must.Get(New(tt.config))(t)
		s.listen = func(network, _ string) (net.Listener, error) { return net.Listen(network, tt.leads) }
		l, err := s.Listen()
		switch {
		case (err == nil) != tt.opens:
			t.Errorf("%+v at %s: %v", tt.config, tt.leads, err)
		case err == nil:
			_ = l.Close() // it has nothing to lose
		case !errors.Is(err, ErrNotLocal) || !strings.Contains(err.Error(), "localhost:0") || !strings.Contains(err.Error(), "or listen on 127.0.0.1"):
			t.Error(err)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestATokenIsAskedForBesidesForProbes(t *testing.T) {
	file := write(t, "0123456789abcdef\n")
	s := must.Get(New(Config{Address: "127.0.0.1:0", TokenFile: file}))(t)
	refused := func(path, authorization string) string {
		r, _ := http.NewRequest("GET", "http://127.0.0.1"+path, nil)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		if refusal := s.Refuse(r, strings.HasPrefix(path, "/v1/ids")); refusal != nil {
			return refusal.Code
		}
		return ""
	}
	for authorization, want := range map[string]string{
		"": "no-token", "Bearer": "no-token", "Bearer x": "no-token", "Basic 0123456789abcdef": "no-token", "Bearer 0123456789abcdef ": "no-token",
		"Bearer 0123456789abcdef": "", "bearer 0123456789abcdef": "",
	} {
		if got := refused("/v1/status", authorization); got != want {
			t.Errorf("%q: %q, want %q", authorization, got, want)
		}
	}
	if got := refused("/v1/ids", "Bearer 0123456789abcdef"); got != "not-here" {
		t.Errorf("an ID: %q", got)
	}
	if refused("/livez", "") != "" || refused("/readyz", "") != "" {
		t.Error("probes need a token")
	}
	must.Do(t, os.WriteFile(file, []byte("fedcba9876543210"), 0o600))
	if err := s.Reload(); err != nil || refused("/v1/status", "Bearer fedcba9876543210") != "" || refused("/v1/status", "Bearer 0123456789abcdef") == "" {
		t.Errorf("the new token is not the one that counts: %v", err)
	}
	must.Do(t, os.WriteFile(file, []byte("short"), 0o600))
	if err := s.Reload(); err == nil || refused("/v1/status", "Bearer fedcba9876543210") != "" {
		t.Errorf("after a token that is too short (%v) the last one does not count", err)
	}
}

func TestWithoutATokenOnlyThisHostsNamesLeadHere(t *testing.T) {
	s := must.Get(New(Config{Address: "127.0.0.1:0", IDs: true}))(t)
	for host, refused := range map[string]bool{"localhost": false, "127.0.0.1:7070": false, "[::1]:7070": false, "[::1]": false, "evil.example": true, "evil.example:7070": true, "": true} {
		if got := s.Refuse(&http.Request{Host: host, URL: mustURL(t, "/v1/ids")}, true) != nil; got != refused {
			t.Errorf("%q: refused is %v", host, got)
		}
	}
}

// A page in a browser can have it send requests to this host, and with the client certificate that
// the user has: no ID is issued for a page of another site.
func TestAPageOfAnotherSiteGetsNoIDs(t *testing.T) {
	for name, c := range map[string]Config{"nothing": {}, "a token": {TokenFile: write(t, "0123456789abcdef")}} {
		c.Address, c.IDs = "127.0.0.1:0", true
		s := must.Get(New(c))(t)
		for site, refused := range map[string]bool{"": false, "none": false, "same-origin": false, "same-site": true, "cross-site": true, "other": true} {
			for path, ids := range map[string]bool{"/v1/ids": true, "/flakeward.v1.IdService/Next": false, "/v1/status": false} {
				r := &http.Request{Host: "127.0.0.1:7070", URL: mustURL(t, path), Header: http.Header{"Authorization": {"Bearer 0123456789abcdef"}}}
				if site != "" {
					r.Header.Set("Sec-Fetch-Site", site)
				}
				refusal := s.Refuse(r, ids)
				if got, want := refusal != nil, refused && path != "/v1/status"; got != want || got && refusal.Code != "not-here" {
					t.Errorf("with %s, %q, from %q: %v", name, path, site, refusal)
				}
			}
		}
	}
}

func TestFilesThatCannotBeUsedAreNamed(t *testing.T) {
	junk := write(t, "junk")
	for _, c := range []Config{{Cert: junk, Key: junk}, {TokenFile: junk}, {TokenFile: junk + "x"}} {
		c.Address = "127.0.0.1:0"
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), junk) || !strings.Contains(err.Error(), "--admin-") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func mustURL(t *testing.T, path string) *url.URL {
	t.Helper()
	return must.Get(url.Parse(path))(t)
}
