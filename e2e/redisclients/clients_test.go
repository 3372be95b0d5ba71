package redisclients

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
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
	return runWith(t, "", program, args...)
}

// runWith is run for a program that reads something.
func runWith(t *testing.T, input, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(command.Environ(), "NODE_PATH="+os.Getenv("NODE_PATH")+":/usr/share/nodejs:/usr/lib/nodejs")
	var wrong bytes.Buffer
	command.Stdin, command.Stderr = strings.NewReader(input), &wrong
	out, err := command.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v: scripts/need clients installs it", err)
	}
	if err != nil || wrong.Len() > 0 {
		t.Fatalf("%s: %v\n%s%s", program, err, out, &wrong)
	}
	return string(out)
}

// Each of these programs takes an ID, three at once, three in a pipeline and three in a
// transaction, and some take more.
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
	seen := received{}
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
		ids = append(ids, must.Get(strconv.ParseInt(word, 10, 64))(t))
	}
	return ids
}

// received is who got which ID.
type received map[int64]string

func (r received) add(t *testing.T, who string, ids []int64, want int) {
	t.Helper()
	if len(ids) != want {
		t.Errorf("%s got %d IDs, want %d: %d", who, len(ids), want, ids)
	}
	for _, id := range ids {
		if other, twice := r[id]; twice {
			t.Errorf("%s got %d, and so did %s", who, id, other)
		}
		r[id] = who
	}
}

// The Go clients do, too, with nothing but the socket's path in their options.
func TestGoClients(t *testing.T) {
	socket := start(t)
	seen := received{}
	ctx := t.Context()
	t.Run("go-redis", func(t *testing.T) {
		c := goredis.NewClient(&goredis.Options{Network: "unix", Addr: socket})
		defer c.Close()
		ids := []int64{must.Get(c.Do(ctx, "NEXT").Int64())(t)}
		queue := func(p goredis.Pipeliner) error {
			for range 3 {
				p.Do(ctx, "NEXT")
			}
			return nil
		}
		for _, pipelined := range []func(context.Context, func(goredis.Pipeliner) error) ([]goredis.Cmder, error){c.Pipelined, c.TxPipelined} {
			for _, r := range must.Get(pipelined(ctx, queue))(t) {
				ids = append(ids, must.Get(r.(*goredis.Cmd).Int64())(t))
			}
		}
		seen.add(t, "go-redis", ids, 7)
	})
	t.Run("redigo", func(t *testing.T) {
		c := must.Get(redis.Dial("unix", socket))(t)
		defer c.Close()
		id := must.Get(redis.Int64(c.Do("NEXT")))(t)
		for _, command := range []string{"MULTI", "NEXT", "NEXT", "NEXT"} {
			must.Do(t, c.Send(command))
		}
		seen.add(t, "redigo", append(must.Get(redis.Int64s(c.Do("EXEC")))(t), id), 4)
	})
	t.Run("rueidis", func(t *testing.T) {
		c := must.Get(rueidis.NewClient(rueidis.MustParseURL("unix://" + socket)))(t)
		defer c.Close()
		next := func() rueidis.Completed { return c.B().Arbitrary("NEXT").Build() }
		id := must.Get(c.Do(ctx, next()).AsInt64())(t)
		replies := c.DoMulti(ctx, c.B().Multi().Build(), next(), next(), c.B().Exec().Build())
		seen.add(t, "rueidis", append(must.Get(replies[3].AsIntSlice())(t), id), 3)
	})
}
