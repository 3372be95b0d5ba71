package connect

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

func TestParse(t *testing.T) {
	etcd := func(path string, hosts ...string) location {
		return location{scheme: "etcd", hosts: hosts, path: path}
	}
	for url, want := range map[string]location{
		"dir:/a%20/../b @/":                {scheme: "dir", path: "/b @"},
		"dir:///a":                         {scheme: "dir", path: "/a"},
		"etcd://h1:2379":                   etcd("", "h1:2379"),
		"etcd://h1":                        etcd("", "h1:2379"),
		"etcd://h1:1,h2:2,h3/":             etcd("", "h1:1", "h2:2", "h3:2379"),
		"etcd://h1/a/b/":                   etcd("/a/b", "h1:2379"),
		"etcd://h1//a":                     etcd("/a", "h1:2379"),
		"etcd://h1/a%20b":                  etcd("/a b", "h1:2379"),
		"etcd://[::1]:5,[fe80::1]":         etcd("", "[::1]:5", "[fe80::1]:2379"),
		"etcd://u:p@h1":                    {scheme: "etcd", hosts: []string{"h1:2379"}, user: "u", password: "p"},
		"etcd://u%3A:p%40%2F:@h1:1,h2/x@y": {scheme: "etcd", hosts: []string{"h1:1", "h2:2379"}, user: "u:", password: "p@/:", path: "/x@y"},
		"etcd://u:p@q@h1":                  {scheme: "etcd", hosts: []string{"h1:2379"}, user: "u", password: "p@q"},
		"zk://h1":                          {scheme: "zk", hosts: []string{"h1:2181"}},
		"zk://u:p@h1:1,h2,[::1]/a/b/":      {scheme: "zk", hosts: []string{"h1:1", "h2:2181", "[::1]:2181"}, path: "/a/b", user: "u", password: "p"},
	} {
		if got, err := parse(url); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", url, got, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for url, want := range map[string]string{
		"":                        "no scheme",
		"h1":                      "no scheme",
		"h1:2379":                 `"h1"`,
		"http://h1":               `"http"`,
		"zoo://h1:2181/x":         `"zoo"`,
		"zk:h1":                   "// after zk:",
		"zk://":                   "host is missing",
		"zk://h1:x":               `"x"`,
		"zk://h1/a//b":            `has a part ""`,
		"zk://h1/../b":            `has a part ".."`,
		"zk://h1/a/./b":           `has a part "."`,
		"zk://h1/a%00":            "other than printable ASCII",
		"zk://h1/a%20b":           "other than printable ASCII",
		"zk://geheim@h1":          "user:password@",
		"embedded:":               "does not have",
		"dir:":                    "does not begin with a slash",
		"dir:a":                   "does not begin with a slash",
		"dir:/a\x00":              "zero byte",
		"etcd:h1":                 "//",
		"etcd://":                 "host is missing",
		"etcd:///prefix":          "host is missing",
		"etcd://h1,,h2":           "host is missing",
		"etcd://h1:x":             `"x"`,
		"etcd://h1:0":             `"0"`,
		"etcd://h1:65536":         `"65536"`,
		"etcd://::1":              "brackets",
		"etcd://h1?tls=1":         "options",
		"etcd://h1/x?tls=1":       "options",
		"etcd://h1/%zz":           "%25",
		"etcd://geheim@h1":        "user:password@",
		"etcd://:geheim@h1":       "user:password@",
		"etcd://geheim:@h1":       "user:password@",
		"etcd://u:%zzgeheim@h1":   "%25",
		"etcd://u:geheim@h1:port": `"port"`,
		"etcd://u:geheim@":        "host is missing",
	} {
		_, err := parse(url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %s", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the error %q shows the password", url, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	for url, want := range map[string]Description{
		"dir:/a/":                     {Text: "dir:/a", Local: true},
		"etcd://u:geheim@h1,h2:5/a b": {Text: "etcd://***@h1:2379,h2:5/a%20b", User: true},
		"zk://u:geheim@h1,h2:5/a":     {Text: "zk://***@h1:2181,h2:5/a", User: true},
	} {
		if got, err := Describe(url); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", url, got, err, want)
		}
	}
	if _, err := Describe("nothing"); err == nil {
		t.Error("a URL that is none was described")
	}
}

func FuzzParse(f *testing.F) {
	for _, url := range []string{"dir:/a/b", "etcd://u:p@h1,[::1]:5/a b", "zk://h1:1,h2/a/b", "zk://u%3A:p%40@h1/%C3%A4", "zk://h1/a//.."} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		l, err := parse(url)
		if err != nil {
			return
		}
		if l.user != "" {
			l.user, l.password = "***", "***"
		}
		// What is shown says the same, except for user and password.
		again, err := parse(strings.Replace(l.String(), "***@", "%2A%2A%2A:***@", 1))
		if err != nil || !reflect.DeepEqual(again, l) {
			t.Errorf("%q is %+v, shown as %q, which is %+v, %v", url, l, l, again, err)
		}
	})
}

var identity = coord.Identity{Host: "h", Incarnation: "I1"}

// Two clusters of one host each rarely assign the same worker ID first.
func TestDirectoriesSpread(t *testing.T) {
	seen := map[int]bool{}
	for range 4 {
		c := must.Get(Open(t.Context(), Config{URL: "dir:" + t.TempDir(), Identity: identity}))(t)
		coordtest.Join(t, c, coord.Layout{Text: "layout", Workers: coord.MaxWorkers})
		claim := must.Get(c.Claim(t.Context(), coord.Request{Worker: coord.AnyWorker}))(t)
		seen[claim.Worker()] = true
		coordtest.Close(t, c)
	}
	if len(seen) < 3 {
		t.Errorf("four clusters began with the worker IDs %v", seen)
	}
}

func TestOpenErrors(t *testing.T) {
	for name, c := range map[string]Config{
		"no URL":              {Identity: identity},
		"no directory":        {URL: "dir:", Identity: identity},
		"no incarnation":      {URL: "etcd://h1"},
		"incarnation":         {URL: "dir:" + t.TempDir(), Identity: coord.Identity{Incarnation: "a b"}},
		"time to live":        {URL: "etcd://h1", Identity: identity, TTL: time.Second},
		"time to live, in ms": {URL: "etcd://h1", Identity: identity, TTL: 2500 * time.Millisecond},
	} {
		got, err := Open(t.Context(), c)
		if err == nil || got != nil {
			t.Errorf("%s: %v, %v; want an error", name, got, err)
		}
	}
}

// What is read again goes by the same clock as what was read first.
func TestReloadGoesByTheSameClock(t *testing.T) {
	clock, current := clocktest.NewManual(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), &secure.Current{}
	c := Config{TLS: TLS{CA: certtest.New(t, "ca").File}, Password: "read again", Clock: clock, Current: current}
	must.Do(t, c.Reload())
	if got := current.TLS(nil); got == nil || got.RootCAs == nil || got.Time().UnixNano() != clock.Now().Wall {
		t.Errorf("read %+v", got)
	}
	c.TLS.CA += ".gone"
	before := current.TLS(nil)
	if err := c.Reload(); err == nil || current.TLS(nil) != before || current.Password("") != "read again" {
		t.Errorf("with a file that is gone: %v", err)
	}
}
