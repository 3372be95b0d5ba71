package doors

import (
	"context"
	"flag"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// mostTime bounds each wait.
const mostTime = time.Minute

// tools has buf, grpcurl and ghz, which take minutes to build: run.sh does.
var tools = flag.String("tools", "", "the `directory` of buf, grpcurl and ghz; without it, they are left out")

// Each client works as it is, while all the others use the same socket of the real program. What
// each prints has the IDs that it was given, and no two are alike.
func TestClientsOfEachDialectAtOnce(t *testing.T) {
	dir := sockettest.Dir(t)
	program, err := process.BuildNormal(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := process.NewHost(program, dir+"/h")
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := h.Start(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := daemon.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	socket := h.Socket
	ids, err := client.Open(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ids.Close()
	if _, err := ids.Take(t.Context(), 1); err != nil { // as soon as there is one
		t.Fatal(err)
	}
	const service = "flakeward.v1.IdService"
	bridge := bridged(t, socket) // a browser has no Unix sockets
	browser := []string{"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir(), "--dump-dom"}
	type expected struct {
		args []string
		want string // what it prints
		ids  int    // and how many IDs
	}
	clients := map[string]expected{
		"curl":               {[]string{"curl", "-sS", "--fail", "--unix-socket", socket, "http://f/v1/ids?count=3"}, `{"ids":["`, 3},
		"curl, Connect":      {[]string{"curl", "-sS", "--fail", "--unix-socket", socket, "--json", `{"count":3}`, "http://f/" + service + "/Next"}, `"ids":`, 3},
		"redis-cli":          {[]string{"redis-cli", "-s", socket, "NEXT", "3"}, "", 3},
		"redis-cli, RESP3":   {[]string{"redis-cli", "-3", "-s", socket, "NEXT", "3"}, "", 3},
		"a browser, for IDs": {append(browser, bridge+"/v1/ids?count=3"), "ids", 3},
	}
	if *tools != "" {
		buf, grpcurl, ghz := filepath.Join(*tools, "buf"), filepath.Join(*tools, "grpcurl"), filepath.Join(*tools, "ghz")
		curl := []string{buf, "curl", "--unix-socket", socket, "-d", `{"count":3}`}
		url := "http://f/" + service + "/Next"
		clients["buf curl, reflection"] = expected{append(slices.Clone(curl), "--http2-prior-knowledge", "--protocol", "grpc", url), `"ids":`, 3}
		clients["buf curl, a schema"] = expected{append(slices.Clone(curl), "--schema", "../../api", url), `"ids":`, 3}
		clients["grpcurl"] = expected{[]string{grpcurl, "-plaintext", "-unix", "-d", `{"count":3}`, socket, service + "/Next"}, `"ids":`, 3}
		clients["ghz"] = expected{[]string{ghz, "--insecure", "--total", "2000", "--call", service + ".Next", "--data", `{"count":3}`, "unix://" + socket}, "[OK]   2000 responses", 0}
	}
	id := regexp.MustCompile(`\b[0-9]{12,19}\b`)
	var mu sync.Mutex
	seen := map[string]string{}
	var all sync.WaitGroup
	begin := make(chan struct{})
	for name, c := range clients {
		all.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), mostTime)
			defer stop()
			command := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
			var said strings.Builder
			command.Stderr, command.WaitDelay = &said, time.Second // a browser's children may keep it open
			<-begin
			out, err := command.Output()
			found := id.FindAllString(string(out), -1)
			if err != nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), strings.Join(strings.Fields(c.want), " ")) || len(found) != c.ids && c.ids > 0 {
				t.Errorf("%s: %v\n%s%s", name, err, out, said.String())
			}
			mu.Lock()
			defer mu.Unlock()
			for _, one := range found {
				if _, err := strconv.ParseInt(one, 10, 64); err != nil || seen[one] != "" && c.ids > 0 {
					t.Errorf("%s has %s, as has %s", name, one, seen[one])
				}
				seen[one] = name
			}
		})
	}
	close(begin)
	all.Wait()
	ctx, stop := context.WithTimeout(t.Context(), mostTime)
	defer stop()
	out, err := exec.CommandContext(ctx, browser[0], append(browser[1:], "--virtual-time-budget=5000", bridge+"/")...).Output() // its script asks for the state
	if err != nil || !strings.Contains(string(out), "IDs are unique") {
		t.Errorf("a browser, for the page: %v\n%s", err, out)
	}
}

// bridged passes connections to an address on to the socket, byte by byte.
func bridged(t *testing.T, socket string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", socket)
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
	return "http://" + l.Addr().String()
}
