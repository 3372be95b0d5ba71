package redisclients

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

// handshakes are what clients send by themselves when they connect, by their default options unless
// the name says otherwise. They were read in the clients' sources. An "!" stands before what the
// server has not.
var handshakes = []struct {
	client string
	sends  []string // the arguments with a blank between them
}{
	{"go-redis 9.23.0", []string{
		"hello 3", "!client maint_notifications on moving-endpoint-type external-ip",
		"client setinfo LIB-NAME go-redis(,go1.26.8)", "client setinfo LIB-VER 9.23.0",
	}},
	{"rueidis 1.0.79", []string{
		"HELLO 3", "CLIENT TRACKING ON OPTIN", "CLIENT SETINFO LIB-NAME rueidis", "CLIENT SETINFO LIB-VER 1.0.79",
		"!CLUSTER SLOTS",
	}},
	{"valkey-go 1.0.79", []string{
		"HELLO 3", "CLIENT TRACKING ON OPTIN", "CLIENT SETINFO LIB-NAME valkey", "CLIENT SETINFO LIB-VER 1.0.79",
		"!CLUSTER SLOTS",
	}},
	{"redis-py 8.1.0", []string{"HELLO 3", "CLIENT SETINFO LIB-NAME redis-py", "CLIENT SETINFO LIB-VER 8.1.0"}},
	{"redis-py 8.1.0 over TCP, with a name", []string{
		"HELLO 3 AUTH default secret", "!CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip", "CLIENT SETNAME orders",
		"CLIENT SETINFO LIB-NAME redis-py", "CLIENT SETINFO LIB-VER 8.1.0",
	}},
	{"node-redis 6.2.1", []string{"HELLO 3", "CLIENT SETINFO LIB-VER 6.2.1", "CLIENT SETINFO LIB-NAME node-redis"}},
	{"node-redis 6.2.1 over TCP, with a name and client-side cache", []string{
		"HELLO 3 AUTH default secret SETNAME orders", "!READONLY", "CLIENT SETINFO LIB-VER 6.2.1", "CLIENT SETINFO LIB-NAME node-redis",
		"CLIENT TRACKING ON", "!CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-fqdn",
	}},
	{"node-redis 6.2.1 with RESP 2", []string{"CLIENT SETNAME orders", "CLIENT SETINFO LIB-VER 6.2.1", "CLIENT SETINFO LIB-NAME node-redis"}},
	{"ioredis 6.0.0", []string{"hello 3", "client SETINFO LIB-VER 6.0.0", "client SETINFO LIB-NAME ioredis", "info"}},
	{"ioredis 6.0.0 with protocol 2", []string{"auth default secret", "client SETINFO LIB-VER 6.0.0", "client SETINFO LIB-NAME ioredis", "info"}},
	{"Lettuce 7.8", []string{
		"HELLO 3", "CLIENT SETINFO lib-name Lettuce", "CLIENT SETINFO lib-ver 7.8.0.RELEASE/unknown",
		"!CLIENT MAINT_NOTIFICATIONS on moving-endpoint-type external-ip",
	}},
	{"Lettuce 7.8 with RESP2", []string{"PING", "CLIENT SETINFO lib-name Lettuce", "CLIENT SETINFO lib-ver 7.8.0.RELEASE/unknown"}},
	{"Jedis 8.0", []string{"HELLO 3", "CLIENT SETINFO LIB-NAME jedis", "CLIENT SETINFO LIB-VER 8.0.0"}},
	{"Jedis 8.0 with RESP2, and a pool that tests", []string{"HELLO 2", "CLIENT SETINFO LIB-NAME jedis", "CLIENT SETINFO LIB-VER 8.0.0", "PING"}},
	{"StackExchange.Redis 3.1", []string{
		"HELLO 3", "CLIENT SETNAME host(SE.Redis-v3.1.5)", "CLIENT SETINFO lib-name SE.Redis", "CLIENT SETINFO lib-ver 3.1.5", "CLIENT ID",
		"CONFIG GET replica-read-only", "CONFIG GET databases", "!SENTINEL MASTERS", "INFO replication", "INFO server", "!CLUSTER NODES",
		"GET __Booksleeve_TieBreak", "ECHO \x9c\x00\xff\r\n\x8ba7b8c9d0e1", "SUBSCRIBE __Booksleeve_MasterChanged", "PING",
	}},
	{"StackExchange.Redis 3.1 with RESP2, its connection for subscriptions", []string{
		"CLIENT SETNAME host(SE.Redis-v3.1.5)", "CLIENT ID", "ECHO 0123456789abcdef", "SUBSCRIBE __Booksleeve_MasterChanged", "PING", "RESET", "PING",
	}},
	{"leaving the channels", []string{"UNSUBSCRIBE", "SUBSCRIBE a", "PUNSUBSCRIBE", "UNSUBSCRIBE b", "UNSUBSCRIBE a", "PUNSUBSCRIBE x*", "PING"}},
	{"leaving the channels with RESP3", []string{"HELLO 3", "UNSUBSCRIBE", "SUBSCRIBE a", "PUNSUBSCRIBE", "UNSUBSCRIBE", "PING"}},
	{"options of several clients", []string{
		"HELLO 3 AUTH default secret SETNAME orders", "SELECT 0", "CLIENT NO-TOUCH ON", "CLIENT NO-EVICT ON", "!CLIENT CAPA redirect",
		"CLIENT TRACKING ON BCAST", "!READWRITE", "!CLUSTER SLOTS", "!CLUSTER SHARDS", "COMMAND COUNT", "CLIENT GETNAME", "RESET",
	}},
}

// young are commands that came after Debian's Redis.
var young = []string{"CLIENT SETINFO", "CLIENT NO-TOUCH"}

// TestHandshakes: what a client sends to connect has the replies that it has from a Redis server,
// and the next request has its ID. What the server has not is no refusal.
func TestHandshakes(t *testing.T) {
	redis, theirs, err := redisbench.Start(t.Context(), sockettest.Dir(t))
	if err != nil {
		t.Fatalf("%v (scripts/need clients installs it)", err)
	}
	defer redis.Kill()
	for _, c := range handshakes {
		t.Run(c.client, func(t *testing.T) {
			ours := daemontest.Start(t, daemontest.Config(sockettest.Dir(t))).Config.Socket.Path
			var requests []byte
			declined := 0
			for _, text := range c.sends {
				text, wrong := strings.CutPrefix(text, "!")
				if wrong {
					declined++
				}
				requests = wire.AppendCommand(requests, strings.Split(text, " ")...)
			}
			got, want := replies(t, ours, requests, len(c.sends)), replies(t, theirs, requests, len(c.sends))
			for i, text := range c.sends {
				text, wrong := strings.CutPrefix(text, "!")
				switch {
				case wrong != strings.HasPrefix(got[i], "-"):
					t.Errorf("%s: %q", text, got[i])
				case got[i] == want[i], slices.ContainsFunc(young, func(name string) bool { return strings.HasPrefix(strings.ToUpper(text), name) }):
				default:
					t.Errorf("%s:\nhere  %q\nRedis %q", text, got[i], want[i])
				}
			}
			connection := must.Get(net.Dial("unix", ours))(t)
			defer connection.Close()
			must.Get(connection.Write(append(requests, "NEXT\r\nINFO stats\r\n"...)))(t)
			in := bufio.NewReader(connection)
			for range c.sends {
				must.Get(readReply(in))(t)
			}
			if id, err := readReply(in); err != nil || id[0] != ':' {
				t.Errorf("NEXT after it: %q, %v", id, err)
			}
			if n := metric(t, ours, "total_error_replies"); n != "0" {
				t.Errorf("%s requests count as refused, and %d are declined", n, declined)
			}
		})
	}
}

// metric is a field of INFO.
func metric(t *testing.T, socket, name string) string {
	t.Helper()
	value, found := info.Parse(cliOf(t, socket, "", "INFO")).Get(name)
	if !found {
		t.Fatalf("INFO has no %s", name)
	}
	return value
}

// replies returns what a server says to so many requests, made comparable.
func replies(t *testing.T, socket string, requests []byte, n int) (all []string) {
	t.Helper()
	connection := must.Get(net.Dial("unix", socket))(t)
	defer connection.Close()
	must.Get(connection.Write(requests))(t)
	in := bufio.NewReader(connection)
	for range n {
		all = append(all, must.Get(readReply(in))(t))
	}
	return all
}

// readReply reads a reply, and writes down its types and texts. Numbers are the server's own, and
// so are texts of several lines, the version, and the like.
func readReply(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	n, _ := strconv.Atoi(rest)
	switch kind {
	case '+':
		return line, nil
	case '-': // the first words, as a client looks at them
		words := strings.Fields(rest)
		return "-" + strings.TrimRight(strings.Join(words[:min(len(words), 4)], " "), ".,:"), nil
	case ':', ',', '#', '(':
		return string(kind), nil
	case '_':
		return "null", nil
	case '$', '=': // of a text, RESP3 may name the format
		if n < 0 {
			return "null", nil
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return "", err
		}
		if bytes.ContainsRune(text[:n], '\n') && !bytes.ContainsRune(text[:n], 0) {
			return "lines", nil
		}
		return string(text[:n]), nil
	case '*', '%', '>', '~':
		each := 1
		if kind == '%' {
			each = 2
		}
		elements := make([]string, max(n, 0)*each)
		for i := range elements {
			if elements[i], err = readReply(in); err != nil {
				return "", err
			}
			if i > 0 && slices.Contains([]string{"server", "version", "databases"}, elements[i-1]) {
				elements[i] = "its own"
			}
		}
		return fmt.Sprintf("%c%q", kind, elements), nil
	}
	return "", fmt.Errorf("a reply that begins %q", line)
}
