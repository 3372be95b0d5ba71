// Package inprocess measures generators of IDs within one process: flakeward's, and libraries that
// others wrote.
//
// All are called alike: one ID a call, by a function of the same type, in a loop that does nothing
// else. A generator whose tick is used up waits as it was made to: bwmarrin/snowflake polls the
// clock, sonyflake sleeps with its lock held, and flakeward tells its caller how long to wait, who
// does so on a timer and asks again.
package inprocess

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/sony/sonyflake/v2"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
)

// Generator is one of those that are measured.
type Generator struct {
	Name   string
	Module string // of the library; empty: this one
	// Open makes the generator. What it returns makes a function for each goroutine, which makes an
	// ID at each call.
	Open func() (func() Next, error)
}

// Next makes an ID. It is an error if there is none: none of the generators here is asked for what
// it cannot do.
type Next func() error

// sink is where IDs go, so that the compiler does not drop what makes them. Each goroutine has its
// own.
type sink struct {
	id uint64
	_  [56]byte // a cache line to itself
}

// Generators are all that are measured, by their names. The pairs of layouts that are compared with
// one another have the same number of bits for the sequence and the same tick.
var Generators = []Generator{
	{
		Name: "flakeward, room",
		Open: flakeward("time=41@1ms,worker=2,sequence=20;epoch=2026-01-01"),
	},
	{
		Name: "flakeward, 12 bits",
		Open: flakeward("flakeward"),
	},
	{
		Name: "flakeward, 8 bits of 10 ms",
		Open: flakeward("sonyflake;epoch=2026-01-01"),
	},
	{
		Name: "bwmarrin/snowflake, room", Module: "github.com/bwmarrin/snowflake",
		Open: func() (func() Next, error) { return bwmarrin(2, 20) },
	},
	{
		Name: "bwmarrin/snowflake", Module: "github.com/bwmarrin/snowflake",
		Open: func() (func() Next, error) { return bwmarrin(10, 12) },
	},
	{
		Name: "sonyflake, room", Module: "github.com/sony/sonyflake/v2",
		Open: func() (func() Next, error) {
			return sony(sonyflake.Settings{BitsSequence: 20, BitsMachineID: 2, TimeUnit: time.Millisecond})
		},
	},
	{
		Name: "sonyflake", Module: "github.com/sony/sonyflake/v2",
		Open: func() (func() Next, error) { return sony(sonyflake.Settings{}) },
	},
}

// Find is the generator of that name.
func Find(name string) (Generator, error) {
	for _, g := range Generators {
		if g.Name == name {
			return g, nil
		}
	}
	return Generator{}, fmt.Errorf("there is no generator %q", name)
}

// bwmarrin's layout is set for the whole process.
func bwmarrin(nodeBits, stepBits uint8) (func() Next, error) {
	snowflake.NodeBits, snowflake.StepBits = nodeBits, stepBits
	node, err := snowflake.NewNode(1)
	return func() Next {
		s := new(sink)
		return func() error {
			s.id = uint64(node.Generate())
			return nil
		}
	}, err
}

func sony(settings sonyflake.Settings) (func() Next, error) {
	settings.MachineID = func() (int, error) { return 1, nil }
	f, err := sonyflake.New(settings)
	return func() Next {
		s := new(sink)
		return func() error {
			id, err := f.NextID()
			s.id = uint64(id)
			return err
		}
	}, err
}

// flakeward makes IDs as the daemon does, for connections that ask for the next one as soon as they
// have one.
func flakeward(layout string) func() (func() Next, error) {
	return func() (func() Next, error) {
		i, err := issuer(layout)
		return func() Next { return caller(i, new(sink)) }, err
	}
}

// issuer issues from a lane whose ceiling is out of reach.
func issuer(layout string) (*issue.Issuer, error) {
	l, err := generator.ParseLayout(layout)
	if err != nil {
		return nil, err
	}
	lane, err := generator.NewLane(l, 0, 1, 0)
	if err != nil {
		return nil, err
	}
	lane.Raise(l.MaxTick())
	tick := time.Duration(l.TickLength())
	guard, err := clockguard.NewLimits(max(5*time.Millisecond, tick), max(2*time.Second, 2*tick), tick)
	if err != nil {
		return nil, err
	}
	i := issue.New(l, clockguard.System{}, issue.Limits{Guard: guard, MaxBlock: time.Minute}, nobody{})
	i.Use(lane)
	return i, nil
}

// caller is one such connection.
func caller(i *issue.Issuer, s *sink) Next {
	var c issue.Connection
	return func() error {
		run, wait := i.Take(&c, 0, 1)
		for run.N == 0 {
			if wait.Err != nil {
				return wait.Err
			}
			timer := time.NewTimer(wait.For)
			<-timer.C
			run, wait = i.Take(&c, 0, 1)
		}
		c.BeginQueued()
		s.id = uint64(run.First)
		return nil
	}
}

// nobody lends nothing: the lane is never given up.
type nobody struct{}

func (nobody) ReLease(*generator.Lane) {}
func (nobody) ExtendNow()              {}
func (nobody) CanAcquire() bool        { return false }
func (nobody) Condition() error        { return nil }

// Result is what goroutines got out of a generator.
type Result struct {
	IDs  int64
	Took time.Duration
	CPU  time.Duration // of all processors together
}

// Rate is how many IDs a second there were.
func (r Result) Rate() float64 { return float64(r.IDs) / r.Took.Seconds() }

// CPUEach is how much processor time, in seconds, an ID took.
func (r Result) CPUEach() float64 { return r.CPU.Seconds() / float64(r.IDs) }

// batch is how many IDs a goroutine makes before it looks whether it should go on.
const batch = 64

// Measure has goroutines make IDs for warm, which is not counted, and then for length. It is meant
// for a process of its own.
func (g Generator) Measure(ctx context.Context, goroutines int, warm, length time.Duration) (Result, error) {
	open, err := g.Open()
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", g.Name, err)
	}
	var over atomic.Bool
	counts := make([]struct {
		ids atomic.Int64
		err error
		_   [40]byte // a cache line to itself
	}, goroutines)
	var all sync.WaitGroup
	for i := range counts {
		all.Go(func() {
			next, mine := open(), &counts[i]
			for !over.Load() && mine.err == nil {
				for range batch {
					if mine.err = next(); mine.err != nil {
						return
					}
				}
				mine.ids.Add(batch)
			}
		})
	}
	sum := func() (n int64) {
		for i := range counts {
			n += counts[i].ids.Load()
		}
		return n
	}
	r, err := between(ctx, sum, warm, length)
	over.Store(true)
	all.Wait()
	for i := range counts {
		if counts[i].err != nil {
			return Result{}, fmt.Errorf("%s: %w", g.Name, counts[i].err)
		}
	}
	return r, err
}

// between counts what is made between the end of warm and the end of length.
func between(ctx context.Context, sum func() int64, warm, length time.Duration) (r Result, err error) {
	begun := time.NewTimer(warm)
	defer begun.Stop()
	select {
	case <-begun.C:
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	from, made, used := time.Now(), sum(), cpu()
	ended := time.NewTimer(length)
	defer ended.Stop()
	select {
	case <-ended.C:
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	return Result{IDs: sum() - made, Took: time.Since(from), CPU: cpu() - used}, nil
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
