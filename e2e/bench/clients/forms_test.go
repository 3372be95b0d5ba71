package clients

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// textual are programs that ask for so many IDs as texts, in one of two ways.
var textual = []struct {
	name string
	args []string
}{
	{"node-redis", []string{"node", "testdata/node-redis-forms.js"}},
	{"lua-redis", []string{"lua5.1", "testdata/lua-redis-forms.lua"}},
}

const (
	asked    = "100000"
	askedIDs = 100_000
)

// Clients that read integers as doubles get each ID as a text of its own, whether they choose the
// form for the connection or say it in each request.
func TestClientsThatRoundGetTexts(t *testing.T) {
	daemon := daemontest.Start(t, daemontest.Config(sockettest.Dir(t)))
	seen := map[int64]bool{}
	for _, p := range textual {
		for way, as := range map[string]form.Form{"FORM": form.String, "AS": form.Base62} {
			t.Run(p.name+" "+way, func(t *testing.T) {
				words := strings.Fields(run(t, p.args[0], append(p.args[1:], way, asked, daemon.Config.Socket.Path)...))
				if len(words) != askedIDs {
					t.Fatalf("%d IDs", len(words))
				}
				for _, word := range words {
					id, err := new(form.Coder).Parse(as, word)
					if err != nil || seen[id] {
						t.Fatalf("%s: %v; it came before: %t", word, err, seen[id])
					}
					seen[id] = true
				}
				t.Logf("%d different values", len(words))
			})
		}
	}
}

// Without a form node-redis rounds: that is said once, and counted, if the client tells its name,
// which Debian's does not by itself.
func TestAClientThatRoundsIsNamed(t *testing.T) {
	daemon := daemontest.Start(t, daemontest.Config(sockettest.Dir(t)))
	t.Setenv("LIBRARY", "node-redis")
	words := strings.Fields(run(t, "node", "testdata/node-redis-forms.js", "none", "4000", daemon.Config.Socket.Path))
	different := map[string]bool{}
	for _, word := range words {
		different[word] = true
	}
	if len(words) != 4000 || len(different) > len(words)/2 {
		t.Errorf("%d of %d numbers are different: does node-redis not round any more?", len(different), len(words))
	}
	text := run(t, "redis-cli", "-s", daemon.Config.Socket.Path, "INFO", "stats")
	if got, _ := info.Parse(text).Get("rounding_connections"); got != "1" {
		t.Errorf("INFO counts %s connections", got)
	}
	if n := strings.Count(daemon.Log.String(), "a client reads integers as doubles"); n != 1 {
		t.Errorf("the log has %d lines about it:\n%s", n, daemon.Log)
	}
}

// The programs of docs/http.md for plain Java print IDs as texts and as numbers.
func TestTheProgramsForJava(t *testing.T) {
	page, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	if err != nil {
		t.Fatal(err)
	}
	c := daemontest.Config(sockettest.Dir(t))
	c.Listen.Address = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	daemon := daemontest.Start(t, c)
	program := func(name, with string) (lines []string) {
		t.Helper()
		before, of, found := strings.Cut(string(page), "    class "+name+" {\n")
		of, _, ends := strings.Cut(of, "\n    }\n")
		if !found || !ends {
			t.Fatalf("docs/http.md has no program %s", name)
		}
		imports := before[strings.LastIndex(before, "\n\n    import ")+2:]
		path := filepath.Join(t.TempDir(), name+".java")
		if err := os.WriteFile(path, []byte(imports+"class "+name+" {\n"+of+"\n}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return strings.Fields(run(t, "java", path, with))
	}
	ids := program("Ids", daemon.Config.Listen.Address)
	if len(ids) != 4 {
		t.Fatalf("three texts and their sum are %q", ids)
	}
	var last, sum int64
	for _, text := range append(ids[:3:3], program("Next", daemon.Config.Socket.Path)...) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= last {
			t.Errorf("%q comes after %d (%v)", text, last, err)
		}
		sum, last = sum+id, id
	}
	if want := strconv.FormatInt(sum-last, 10); ids[3] != want {
		t.Errorf("the sum of %q is %s, want %s", ids[:3], ids[3], want)
	}
}
