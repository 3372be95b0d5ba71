package moving_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/e2e/bench/postgres"
	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// counter is a generator that only counts.
type counter struct {
	next func() int64 // the next ID
	last func() int64 // what --above-id is given
}

// ahead is the number that ours would begin at in a second, were it not for --above-id.
func ahead(t *testing.T) int64 {
	layout := parse(t, "flakeward")
	id, err := layout.Compose(generator.Parts{Tick: layout.TickAt(time.Now().Add(time.Second).UnixNano())})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// incr is the counter of a real Redis.
func incr(t *testing.T) counter {
	if _, err := exec.LookPath(redisbench.Server); err != nil {
		t.Fatalf("%v: `scripts/need peers` installs it", err)
	}
	server, path, err := redisbench.Start(context.WithoutCancel(t.Context()), sockettest.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	c, err := redis.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	number := func(command string, args ...any) int64 {
		n, err := redis.Int64(c.Do(command, args...))
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if _, err := c.Do("SET", "ids", ahead(t)); err != nil {
		t.Fatal(err)
	}
	return counter{next: func() int64 { return number("INCR", "ids") }, last: func() int64 { return number("GET", "ids") }}
}

// segments are Leaf's: a server adds a step to a row of a real table, and counts up to the sum. The
// table is as its README has it.
func segments(t *testing.T) counter {
	c := postgres.Start(t)
	sum := func(sql string) int64 {
		rows, err := c.Query(t.Context(), sql)
		if err != nil {
			t.Error(err)
			return 0
		}
		n, err := strconv.ParseInt(rows[0], 10, 64)
		if err != nil {
			t.Errorf("%s: %q", sql, rows)
		}
		return n
	}
	const step = 1000
	for _, sql := range []string{
		"CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL, step int NOT NULL)",
		fmt.Sprintf("INSERT INTO leaf_alloc VALUES ('order', %d, %d)", ahead(t), step),
	} {
		if err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var at, end int64
	return counter{
		next: func() int64 {
			if at == end {
				end = sum("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'order' RETURNING max_id")
				at = end - step
			}
			at++
			return at - 1
		},
		last: func() int64 { return sum("SELECT max_id FROM leaf_alloc") },
	}
}

// Those that only count are asked beside a daemon for a while, then replaced by one with --above-id:
// no ID is both's, all of ours are above all of theirs, and those of a connection rise. Their numbers
// are of the time to come, so that nothing else keeps the two apart.
func TestBesideACounterAndThenInItsPlace(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) counter{"Redis INCR": incr, "Leaf, segment": segments} {
		t.Run(name, func(t *testing.T) {
			c := begin(t)
			config := daemontest.Config(sockettest.Dir(t))
			above(t, config, c.last())
			d := daemontest.Start(t, config)
			s := dial(t, d.Config.Socket.Path)
			var theirs, ours []int64
			var both sync.WaitGroup
			both.Go(func() {
				theirs = during(beside, func() (ids []int64) {
					for range batch {
						ids = append(ids, c.next())
					}
					return ids
				})
			})
			both.Go(func() { ours = during(beside, func() []int64 { return s.next(batch) }) })
			both.Wait()
			last := c.last()
			if highest := slices.Max(theirs); last < highest {
				t.Errorf("their highest ID is %d, above %d", highest, last)
			}
			// The callers that were left are moved.
			place := daemontest.Config(sockettest.Dir(t))
			above(t, place, last)
			after := dial(t, daemontest.Start(t, place).Config.Socket.Path).next(1000)
			for _, ids := range [][]int64{ours, after} {
				if low := slices.Min(ids); low <= last || !slices.IsSorted(ids) {
					t.Errorf("their last is %d, and the first of ours %d; sorted: %v", last, low, slices.IsSorted(ids))
				}
			}
			common(t, theirs, ours)
			common(t, theirs, after)
			t.Logf("FIGURE %d of theirs, %d of ours, 0 in common", len(theirs), len(ours)+len(after))
		})
	}
}
