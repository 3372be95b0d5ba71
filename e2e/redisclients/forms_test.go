package redisclients

import (
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// Clients that read integers as doubles get each ID as a text of its own, whether they choose the
// form for the connection or say it in each request.
func TestClientsThatRoundGetTexts(t *testing.T) {
	daemon := daemontest.Start(t, daemontest.Config(sockettest.Dir(t)))
	seen := map[int64]bool{}
	const asked = 100_000
	for program, file := range map[string]string{"node": "testdata/node-redis-forms.js", "lua5.1": "testdata/lua-redis-forms.lua"} {
		for way, as := range map[string]form.Form{"FORM": form.String, "AS": form.Base62} {
			t.Run(program+" "+way, func(t *testing.T) {
				words := strings.Fields(run(t, program, file, way, strconv.Itoa(asked), daemon.Config.Socket.Path))
				if len(words) != asked {
					t.Fatalf("%d IDs", len(words))
				}
				for _, word := range words {
					id, err := new(form.Coder).Parse(as, word)
					if err != nil || seen[id] {
						t.Fatalf("%s: %v; it came before: %t", word, err, seen[id])
					}
					seen[id] = true
				}
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
	page, free := read(t, pages+"http.md"), must.Get(port.Reserve())(t)
	t.Cleanup(func() { must.Do(t, free.Release()) })
	c := daemontest.Config(sockettest.Dir(t))
	c.Listen.Address = free.Address()
	daemon := daemontest.Start(t, c)
	program := func(name, with string) (lines []string) {
		t.Helper()
		before, of, found := strings.Cut(page, "    class "+name+" {\n")
		of, _, ends := strings.Cut(of, "\n    }\n")
		if !found || !ends {
			t.Fatalf("docs/http.md has no program %s", name)
		}
		imports := before[strings.LastIndex(before, "\n\n    import ")+2:]
		return strings.Fields(run(t, "java", written(t, name+".java", imports+"class "+name+" {\n"+of+"\n}\n"), with))
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
