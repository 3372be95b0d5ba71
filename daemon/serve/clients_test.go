package serve

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/internal/must"
)

// A client library that people use gets what it expects, in both versions of the protocol.
func TestGoRedis(t *testing.T) {
	each(t, func(t *testing.T, engine string) {
		for _, protocol := range []int{2, 3} {
			h := start(t, engine, newStore(-1), func(c *Config) {
				c.Info = func() []resp.Section {
					return []resp.Section{{Name: "Server", Pairs: [][2]string{{"version", "test"}}}}
				}
			})
			ctx := context.Background()
			c := redis.NewClient(&redis.Options{Network: "unix", Addr: h.path, Protocol: protocol, ClientName: "tester", MaxRetries: -1})
			defer c.Close()
			if pong, err := c.Ping(ctx).Result(); err != nil || pong != "PONG" {
				t.Errorf("PING: %q, %v", pong, err)
			}
			if id, err := c.Do(ctx, "NEXT").Int64(); err != nil || id != 0 {
				t.Errorf("NEXT: %d, %v", id, err)
			}
			if ids, err := c.Do(ctx, "next", 3).Int64Slice(); err != nil || fmt.Sprint(ids) != "[1 2 3]" {
				t.Errorf("NEXT 3: %v, %v", ids, err)
			}
			if run, err := c.Do(ctx, "RUN", 5000).Int64Slice(); err != nil || fmt.Sprint(run) != "[1 4 5000]" {
				t.Errorf("RUN 5000: %v, %v", run, err)
			}
			if info, err := c.Info(ctx).Result(); err != nil || info != "# Server\r\nversion:test\r\n" {
				t.Errorf("INFO: %q, %v", info, err)
			}
			if name, err := c.ClientGetName(ctx).Result(); err != nil || name != "tester" {
				t.Errorf("CLIENT GETNAME: %q, %v", name, err)
			}
			decoded, err := c.Do(ctx, "DECODE", 1541815603606036480).Result()
			if fields, ok := decoded.(map[any]any); protocol == 3 && (!ok || fields["time"] != "2022-06-28T16:07:40.105Z" || fields["worker"] != int64(26)) {
				t.Errorf("DECODE: %v, %v", decoded, err)
			}
			if fields, ok := decoded.([]any); protocol == 2 && (!ok || len(fields) != 14) {
				t.Errorf("DECODE: %v, %v", decoded, err)
			}
			if err := c.Do(ctx, "INCR", "k").Err(); err == nil {
				t.Error("INCR is no error")
			}
			pipe := c.Pipeline()
			const many = 2000
			replies := make([]*redis.Cmd, many)
			for i := range replies {
				replies[i] = pipe.Do(ctx, "NEXT")
			}
			must.Get(pipe.Exec(ctx))(t)
			for i, r := range replies {
				if id, err := r.Int64(); err != nil || id != int64(5004+i) {
					t.Fatalf("reply %d: %d, %v", i, id, err)
				}
			}
		}
	})
}

// 500 clients are connected at once, each is answered, and no ID is given twice.
func TestManyConnections(t *testing.T) {
	clients := 500
	// Each connection takes a descriptor on either side, as both are in this process, and another
	// one while it is handed over.
	var limit unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	if room := int(min(limit.Cur, 1<<20)) - 200; room < 3*clients {
		t.Logf("only %d descriptors are allowed", limit.Cur)
		clients = room / 3
	}
	each(t, func(t *testing.T, engine string) {
		h := start(t, engine, newStore(-1), nil)
		peers := make([]*peer, clients)
		for i := range peers {
			peers[i] = h.dial(t)
		}
		var ids sync.Map
		var wg sync.WaitGroup
		for _, p := range peers {
			wg.Go(func() {
				for range 5 {
					if _, err := p.Write([]byte("*1\r\n$4\r\nNEXT\r\n")); err != nil {
						t.Error(err)
						return
					}
					id, err := p.in.ReadString('\n')
					if err != nil || id[0] != ':' {
						t.Errorf("got %q, %v", id, err)
						return
					}
					if _, twice := ids.LoadOrStore(id, true); twice {
						t.Errorf("%q was given twice", id)
					}
				}
			})
		}
		wg.Wait()
		if c := h.Counters(); c.Connections != uint64(clients) {
			t.Errorf("counters %+v", c)
		}
		must.Do(t, h.Drain(context.Background()))
	})
}

// Connections that end in the middle of anything leave nothing behind.
func TestClientsThatVanish(t *testing.T) {
	each(t, func(t *testing.T, engine string) {
		s := newStore(0)
		h := start(t, engine, s, nil)
		for _, in := range []string{"", "NEX", "*1\r\n$4", "NEXT\r\n", "NEXT 3\r\nPING\r\n", "PING\r\n"} {
			c := must.Get(net.Dial("unix", h.path))(t)
			must.Get(c.Write([]byte(in)))(t)
			if in == "NEXT\r\n" || in == "NEXT 3\r\nPING\r\n" {
				<-s.waited
			}
			_ = c.Close()
		}
		s.put(-1)
		h.Wake()
		p := h.dial(t)
		p.send("NEXT 2\r\n")
		p.in.Discard(len("*2\r\n:0\r\n:1\r\n")) // the drain below hangs otherwise
		must.Do(t, h.Drain(context.Background()))
		if c := h.Counters(); c.Connections != 0 || c.Accepted != 7 {
			t.Errorf("counters %+v", c)
		}
	})
}
