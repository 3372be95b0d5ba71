package redisclients

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/sockettest"
)

const pages = "../../docs/"

func read(t *testing.T, file string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(file))(t))
}

// written is a file of the test's with a text.
func written(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// blocks are the code blocks of a page.
func blocks(t *testing.T, page string) (all []string) {
	t.Helper()
	var block []string
	fenced, before := false, ""
	end := func() {
		if text := strings.Trim(strings.Join(block, "\n"), "\n"); text != "" {
			all = append(all, text)
		}
		block = nil
	}
	for line := range strings.Lines(read(t, pages+page) + "\n.\n") {
		line = strings.TrimSuffix(line, "\n")
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "```"):
			end()
			fenced = !fenced
		case fenced:
			block = append(block, line)
		case indented && (len(block) > 0 || before == ""):
			block = append(block, code)
		case line == "" && len(block) > 0:
			block = append(block, "")
		default:
			end()
		}
		before = line
	}
	return all
}

// block is the one that begins so.
func block(t *testing.T, page, begins string) string {
	t.Helper()
	for _, text := range blocks(t, page) {
		if strings.HasPrefix(text, begins) {
			return text
		}
	}
	t.Fatalf("docs/%s has no block that begins %q", page, begins)
	return ""
}

// resp3 has a stand-in for node-redis 6, which speaks RESP3.
const resp3 = "testdata/resp3"

// The program of docs/forms.md does what the page says with node-redis of Debian, which speaks RESP2,
// and in RESP3 with the stand-in.
func TestTheProgramForNode(t *testing.T) {
	const prints = "It prints `true`, `true`, `23`, `true`."
	if !strings.Contains(read(t, pages+"forms.md"), prints) {
		t.Errorf("docs/forms.md does not say %q", prints)
	}
	path := written(t, "ids.js", block(t, "forms.md", "const redis = require('redis')"))
	daemon := daemontest.Start(t, daemontest.Config(sockettest.Dir(t)))
	for name, library := range map[string]string{"RESP2": "", "RESP3": resp3} {
		t.Run(name, func(t *testing.T) {
			withLibrary(t, library)
			if out := run(t, "node", path, daemon.Config.Socket.Path); out != "true\ntrue\n23\ntrue\n" {
				t.Errorf("it prints %q", out)
			}
		})
	}
}

// The programs in Python of docs/forms.md give the UUIDs that the page has, as the code does.
func TestTheProgramsForPython(t *testing.T) {
	var programs []string
	for _, text := range blocks(t, "forms.md") {
		if strings.HasPrefix(text, "import hashlib, uuid") || strings.HasPrefix(text, "def ") {
			programs = append(programs, text)
		}
	}
	path := written(t, "page.py", strings.Join(programs, "\n\n"))
	if out := run(t, "/usr/bin/python3", "testdata/vectors.py", path, pages+"forms.md", "6f1c1a52-0b67-4b8e-9d6a-3c2f4e5d7a81"); out != "11 UUIDs\n" {
		t.Error(out)
	}
}

// withLibrary has node look for modules in a directory first.
func withLibrary(t *testing.T, dir string) {
	t.Helper()
	if dir == "" {
		return
	}
	t.Setenv("NODE_PATH", must.Get(filepath.Abs(dir))(t))
}

// The lines of docs/protocol.md for clients get an ID each: the Go ones in RESP2 and RESP3, those for
// redis-py in RESP2, those for node-redis in both, with the stand-in.
func TestTheLinesForClients(t *testing.T) {
	socket := daemontest.Start(t, daemontest.Config(sockettest.Dir(t))).Config.Socket.Path
	lines := func(begins string) string {
		return strings.ReplaceAll(block(t, "protocol.md", begins), "/run/flakeward/flakeward.sock", socket)
	}
	try := func(name, library, program, file, text string, args ...string) {
		t.Run(name, func(t *testing.T) {
			withLibrary(t, library)
			if ids := integers(t, run(t, program, append(args, written(t, file, text))...)); len(ids) != 1 || ids[0] <= 1<<53 {
				t.Errorf("it prints %d", ids)
			}
		})
	}
	try("redis-py", "", "/usr/bin/python3", "ids.py", "import redis\n"+lines("r = redis.Redis(")+"\nprint(id)\n")
	node := fmt.Sprintf(`const client = require('redis').createClient({ socket: { path: '%s' } })
client.connect().then(async () => {
  %s
  console.log(String(id))
  await client.quit()
})`, socket, lines("const id = BigInt("))
	try("node-redis", "", "node", "ids.js", node)
	try("node-redis in RESP3", resp3, "node", "ids.js", node)
	const program = `package main

import (
	"context"
	"fmt"

	%q
)

func main() {
	ctx := context.Background()
	%s
	fmt.Println(id)
	if err != nil {
		panic(err)
	}
}
`
	rdb := lines("rdb := redis.NewClient(")
	ours := strings.Replace(lines("ids, err := client.Open("), "{}", "{ fmt.Sprint(id, err); break }", 1) + "\n\t_ = runs"
	for name, text := range map[string]string{
		"go-redis":          fmt.Sprintf(program, "github.com/redis/go-redis/v9", rdb),
		"go-redis in RESP2": fmt.Sprintf(program, "github.com/redis/go-redis/v9", strings.Replace(rdb, "Options{", "Options{Protocol: 2, ", 1)),
		"client":            fmt.Sprintf(program, "github.com/flakeward/flakeward/client", ours),
	} {
		try(name, "", "go", "main.go", text, "run")
	}
}

// The commands of docs/http.md and docs/grpc.md print what the pages show, with other IDs.
func TestTheCommandsOfCurl(t *testing.T) {
	socket := daemontest.Start(t, daemontest.Config(sockettest.Dir(t))).Config.Socket.Path
	digits := regexp.MustCompile(`\d+`)
	shell := func(command string) string {
		command = strings.ReplaceAll(command, "/run/flakeward/flakeward.sock", socket)
		return digits.ReplaceAllString(strings.TrimSpace(run(t, "sh", "-c", strings.Replace(command, "curl ", "curl -sS ", 1))), "N")
	}
	for _, session := range strings.Split("\n"+block(t, "http.md", "$ curl "), "\n$ ")[1:] {
		command, want, _ := strings.Cut(session, "\n")
		if got := shell(command); got != digits.ReplaceAllString(want, "N") {
			t.Errorf("%s prints %q, and the page has %q", command, got, want)
		}
	}
	if got, want := strings.ReplaceAll(shell(block(t, "grpc.md", "curl ")), " ", ""), `{"ids":["N","N","N"]}`; got != want {
		t.Errorf("the call of Connect prints %q, want %q", got, want)
	}
}

// The commands of docs/http.md for an address on TCP get an ID each, without a password and with one.
func TestTheCommandsOnAnAddress(t *testing.T) {
	for _, begins := range []string{"flakeward daemon --listen ", "(umask 077; openssl "} {
		dir := sockettest.Dir(t)
		config := daemontest.Config(dir)
		free := must.Get(port.Reserve())(t)
		defer func() { must.Do(t, free.Release()) }()
		_, at, _ := strings.Cut(free.Address(), ":")
		config.Listen.Address = free.Address()
		served := false
		for line := range strings.Lines(block(t, "http.md", begins)) {
			line = strings.NewReplacer("-h host", "-h 127.0.0.1", "http://host:", "http://127.0.0.1:", "curl ", "curl -sS ", "redis-cli ", "redis-cli --no-auth-warning ", "7070", at).Replace(line)
			switch {
			case strings.HasPrefix(line, "flakeward daemon "):
				if strings.Contains(line, "--password-file password") {
					config.Listen.PasswordFile = filepath.Join(dir, "password")
				}
				daemontest.Start(t, config)
				served = true
			case !served:
				run(t, "sh", "-c", "cd "+dir+" && "+line)
			default:
				if ids := integers(t, strings.Trim(run(t, "sh", "-c", "cd "+dir+" && "+line), "{}ids:[]\"\n")); len(ids) != 1 {
					t.Errorf("%s: %d IDs", line, ids)
				}
			}
		}
	}
}

// What commands print that ask no daemon is what the pages show. A line of dots stands for the rest.
func TestTheCommandsThatNeedNoDaemon(t *testing.T) {
	for page, begins := range map[string]string{"layouts.md": "$ flakeward layout --list", "several-clusters.md": "$ flakeward layout 'time="} {
		command, want, _ := strings.Cut(block(t, page, begins), "\n")
		var words []string
		for _, word := range strings.Fields(command)[1:] {
			words = append(words, strings.Trim(word, "'"))
		}
		var out strings.Builder
		must.Do(t, cli.Run(t.Context(), words, nil, &out, io.Discard, nil))
		got := strings.TrimSpace(out.String())
		if before, cut := strings.CutSuffix(want, "\n..."); cut {
			got, want = got[:min(len(got), len(before))], before
		}
		if got != want {
			t.Errorf("%s prints\n%s\nand %s has\n%s", command, got, page, want)
		}
	}
}
