package clients

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// start starts a daemon whose IDs a double holds, and returns its socket.
func start(t *testing.T) string {
	t.Helper()
	c := daemontest.Config(sockettest.Dir(t))
	c.IDs.Layout = "js53"
	return daemontest.Start(t, c).Config.Socket.Path
}

// mostTime bounds what a program may take.
const mostTime = 2 * time.Minute

// run returns what a program prints. Its last argument is the socket.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(command.Environ(), "NODE_PATH="+os.Getenv("NODE_PATH")+":/usr/share/nodejs:/usr/lib/nodejs")
	var wrong bytes.Buffer
	command.Stderr = &wrong
	out, err := command.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v: scripts/need clients installs it", err)
	}
	if err != nil || wrong.Len() > 0 {
		t.Fatalf("%s: %v\n%s%s", program, err, out, &wrong)
	}
	return string(out)
}

// Each of these programs takes an ID, three at once, three in a pipeline and three in a transaction, and
// some take more.
var programs = []struct {
	name string
	args []string
	more int
}{
	{"redis-py", []string{"/usr/bin/python3", "testdata/redis-py.py"}, 10_000},
	{"redis-rb", []string{"/usr/bin/ruby", "testdata/redis-rb.rb"}, 0},
	{"node-redis", []string{"node", "testdata/node-redis.js"}, 0},
	{"phpredis", []string{"php", "testdata/phpredis.php"}, 0},
	{"Redis.pm", []string{"/usr/bin/perl", "testdata/Redis.pm.pl"}, 0},
	{"lua-redis", []string{"lua5.1", "testdata/lua-redis.lua"}, 0},
}

// Every client gets its IDs, whatever it wraps its requests in, and no ID twice.
func TestClientsOfOtherLanguages(t *testing.T) {
	socket := start(t)
	seen := received{ids: map[int64]string{}}
	t.Run("hiredis", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "hiredis")
		run(t, "cc", "-o", program, "testdata/hiredis.c", "-lhiredis")
		seen.add(t, "hiredis", integers(t, run(t, program, socket)), 10)
	})
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			seen.add(t, p.name, integers(t, run(t, p.args[0], append(p.args[1:], socket)...)), 10+p.more)
		})
	}
}

func integers(t *testing.T, lines string) (ids []int64) {
	t.Helper()
	for _, word := range strings.Fields(lines) {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatalf("%q is no ID: %v", word, err)
		}
		ids = append(ids, id)
	}
	return ids
}

// received is who got which ID.
type received struct {
	mu  sync.Mutex
	ids map[int64]string
}

func (r *received) add(t *testing.T, who string, ids []int64, want int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(ids) != want {
		t.Errorf("%s got %d IDs, want %d: %d", who, len(ids), want, ids)
	}
	for _, id := range ids {
		if other, twice := r.ids[id]; twice {
			t.Errorf("%s got %d, and so did %s", who, id, other)
		}
		r.ids[id] = who
	}
}

// The Go clients do, too, with nothing but the socket's path in their options.
func TestGoClients(t *testing.T) {
	socket := start(t)
	seen := received{ids: map[int64]string{}}
	ctx := t.Context()
	t.Run("go-redis", func(t *testing.T) {
		c := goredis.NewClient(&goredis.Options{Network: "unix", Addr: socket})
		defer c.Close()
		id, err := c.Do(ctx, "NEXT").Int64()
		if err != nil {
			t.Fatal(err)
		}
		ids := []int64{id}
		queue := func(p goredis.Pipeliner) error {
			for range 3 {
				p.Do(ctx, "NEXT")
			}
			return nil
		}
		for _, pipelined := range []func(context.Context, func(goredis.Pipeliner) error) ([]goredis.Cmder, error){c.Pipelined, c.TxPipelined} {
			replies, err := pipelined(ctx, queue)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range replies {
				id, err := r.(*goredis.Cmd).Int64()
				if err != nil {
					t.Error(err)
				}
				ids = append(ids, id)
			}
		}
		seen.add(t, "go-redis", ids, 7)
	})
	t.Run("redigo", func(t *testing.T) {
		c, err := redis.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		id, err := redis.Int64(c.Do("NEXT"))
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"MULTI", "NEXT", "NEXT", "NEXT"} {
			if err := c.Send(command); err != nil {
				t.Fatal(err)
			}
		}
		ids, err := redis.Int64s(c.Do("EXEC"))
		if err != nil {
			t.Fatal(err)
		}
		seen.add(t, "redigo", append(ids, id), 4)
	})
	t.Run("rueidis", func(t *testing.T) {
		c, err := rueidis.NewClient(rueidis.MustParseURL("unix://" + socket))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		id, err := c.Do(ctx, c.B().Arbitrary("NEXT").Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		ids := []int64{id}
		replies := c.DoMulti(ctx, c.B().Multi().Build(), c.B().Arbitrary("NEXT").Build(), c.B().Arbitrary("NEXT").Build(), c.B().Exec().Build())
		run, err := replies[3].AsIntSlice()
		if err != nil {
			t.Fatal(err)
		}
		seen.add(t, "rueidis", append(ids, run...), 3)
	})
}
