// Package moving_test has flakeward come in the place of other generators, as docs/moving.md says:
// both run side by side for a while, then the other one stops. Their IDs are made by themselves,
// where they are Go modules, and by their formulas otherwise.
package moving_test

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// beside is how long both generators run: a minute in the long form.
var beside = 200 * time.Millisecond

func TestMain(m *testing.M) {
	long := flag.Bool("long", false, "a minute side by side")
	flag.Parse()
	if *long {
		beside = time.Minute
	}
	os.Exit(m.Run())
}

// batch is how many IDs are taken at once. Between two batches a generator pauses, so that the long
// form keeps all IDs in memory.
const (
	batch = 50
	rest  = 5 * time.Millisecond
)

// socket is a connection to a daemon.
type socket struct {
	*testing.T
	redis.Conn
}

func dial(t *testing.T, path string) socket {
	t.Helper()
	c, err := redis.Dial("unix", path, redis.DialReadTimeout(2*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return socket{t, c}
}

// next takes n IDs.
func (s socket) next(n int) []int64 {
	s.Helper()
	ids, err := redis.Int64s(s.Do("NEXT", n))
	if err != nil {
		s.Error(err)
	}
	return ids
}

// decode has the daemon take an ID apart.
func (s socket) decode(id int64) map[string]string {
	s.Helper()
	fields, err := redis.Values(s.Do("DECODE", id))
	if err != nil {
		s.Fatal(err)
	}
	parts := map[string]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		name, _ := redis.String(fields[i], nil)
		if number, err := redis.Int64(fields[i+1], nil); err == nil {
			parts[name] = strconv.FormatInt(number, 10)
		} else {
			parts[name], _ = redis.String(fields[i+1], nil)
		}
	}
	return parts
}

// during takes batches until the time is over.
func during(span time.Duration, take func() []int64) (ids []int64) {
	for end := time.Now().Add(span); time.Now().Before(end); <-time.After(rest) {
		ids = append(ids, take()...)
	}
	return ids
}

// margin is for a daemon's clock that is behind this process's.
const margin = 20 * time.Millisecond

// wait waits for a time.
func wait(until time.Time) { <-time.After(time.Until(until)) }

func parse(t *testing.T, text string) *generator.Layout {
	t.Helper()
	layout, err := generator.ParseLayout(text)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// Side by side no ID is both's. When the other one has stopped, and its last tick is over, all of
// ours are above all of theirs. Their IDs are taken apart by our layout.
func TestBesideAndThenInThePlace(t *testing.T) {
	for _, f := range formers {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			c := daemontest.Config(sockettest.Dir(t))
			c.IDs.Layout, c.IDs.Datacenter = f.layout, f.datacenter
			if f.ours != "" {
				daemontest.Create(t, c, func(n *coord.NewCluster) { n.Range = f.rangeOf(t) })
			}
			s := dial(t, daemontest.Start(t, c).Config.Socket.Path)
			next := f.make(t, f.parts)

			var theirs, ours []int64
			var both sync.WaitGroup
			both.Go(func() {
				theirs = during(beside, func() (ids []int64) {
					for range batch {
						ids = append(ids, next())
					}
					return ids
				})
			})
			both.Go(func() { ours = during(beside, func() []int64 { return s.next(batch) }) })
			both.Wait()
			layout := parse(t, f.layout)
			last := slices.Max(theirs)
			parts, err := layout.Decompose(last)
			if err != nil {
				t.Fatal(err)
			}
			wait(layout.StartOf(parts.Tick + 1).Add(margin))
			after := s.next(1000)
			if low := slices.Min(after); low <= last {
				t.Errorf("their last is %d, and the first of ours after it %d", last, low)
			}

			common(t, theirs, append(ours, after...))
			for _, id := range append(ours, after...) {
				p, err := layout.Decompose(id)
				if err != nil || p.Datacenter != f.datacenter || f.ours != "" && !f.rangeOf(t).Has(int(p.Worker)) {
					t.Fatalf("ours is %+v, %v; want worker IDs %s", p, err, f.ours)
				}
			}
			for _, id := range []int64{theirs[0], last} {
				p, err := layout.Decompose(id)
				age := time.Since(p.Time)
				if err != nil || p.Datacenter != f.parts.Datacenter || p.Worker != f.parts.Worker || age < -time.Minute || age > 10*time.Minute+beside {
					t.Errorf("theirs is %+v, %v; want %+v about now", p, err, f.parts)
				}
				if got := s.decode(id); got["worker"] != strconv.FormatUint(f.parts.Worker, 10) || got["sequence"] != strconv.FormatUint(p.Sequence, 10) ||
					got["tick"] != strconv.FormatInt(int64(p.Tick), 10) {
					t.Errorf("DECODE %d: %v, want %+v", id, got, p)
				}
			}
			t.Logf("FIGURE %d of theirs, %d of ours, 0 in common", len(theirs), len(ours)+len(after))
		})
	}
}

// common reports IDs that are both's, or twice one's.
func common(t *testing.T, theirs, ours []int64) {
	t.Helper()
	all := slices.Concat(theirs, ours)
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			t.Fatalf("%d was issued twice", all[i])
		}
	}
}

// Those that only count have no worker ID. Their numbers lie below ours, and --above-id keeps ours
// above those that do not, and above those of a generator that has borrowed from the future.
func TestTheFloorAboveTheirs(t *testing.T) {
	drift := func(t *testing.T, layout string) int64 {
		// More than a millisecond has numbers for: its time runs ahead of the clock.
		next := yitter(9)
		var last int64
		for range 30_000 {
			last = next()
		}
		t.Logf("its last is %v ahead of the clock", time.Until(partsOf(t, layout, last).Time))
		return last
	}
	number := func(n int64) func(*testing.T, string) int64 {
		return func(*testing.T, string) int64 { return n }
	}
	for _, c := range []struct {
		name, layout string
		last         func(t *testing.T, layout string) int64
	}{
		{"CosId, segment", "flakeward", number(1<<53 - 1)},
		{"uid-generator's ring, a second ahead", "time=29@1s,worker=21,sequence=13;epoch=2016-09-20", func(*testing.T, string) int64 {
			return (time.Now().Unix()-1474329600+1)<<34 | 4711<<13 | 8191
		}},
		{"yitter, drifting", "time=41@1ms,worker=6,sequence=6;epoch=2020-02-19T18:20:02Z", drift},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			last := c.last(t, c.layout)
			config := daemontest.Config(sockettest.Dir(t))
			config.IDs.Layout = c.layout
			above(t, config, last)
			first := dial(t, daemontest.Start(t, config).Config.Socket.Path).next(1)[0]
			tick := partsOf(t, c.layout, last).Tick
			if first <= last || partsOf(t, c.layout, first).Tick <= tick {
				t.Errorf("their last is %d of tick %d, and our first %d", last, tick, first)
			}
		})
	}
}

// above makes the cluster of a daemon, as `cluster create --above-id` does.
func above(t *testing.T, c daemon.Config, id int64) {
	t.Helper()
	daemontest.Create(t, c, func(n *coord.NewCluster) { n.Floor = partsOf(t, c.IDs.Layout, id).Tick })
}

func partsOf(t *testing.T, layout string, id int64) generator.Parts {
	t.Helper()
	parts, err := parse(t, layout).Decompose(id)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}
