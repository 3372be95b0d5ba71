package bench

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/sony/sonyflake/v2"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
)

// equal is how near two have to be that meet the same ceiling: a tick more or less in a round is
// chance.
const equal = 0.99

// goClient runs the benchmarks of the Go client against daemons in processes of their own.
func goClient(s *section) {
	roomy, usual := s.daemon("--layout", "time=38@1ms,worker=4,sequence=21;epoch=2026-01-01"), s.daemon()
	program := filepath.Join(s.TempDir(), "client.test")
	if out, err := exec.CommandContext(s.Context(), "go", "test", "-c", "-o", program, process.Package+"/client").CombinedOutput(); err != nil {
		s.Fatalf("the tests of the client: %v\n%s", err, out)
	}
	got := s.inTurn(times(fullRounds, 2), contestant{"the client", func() sample {
		return s.benchmarks(program, "^(BenchmarkNext|BenchmarkNextParallel|BenchmarkNextAtTheCeiling|BenchmarkTake1000)$", length(time.Second),
			"FLAKEWARD_BENCH_ROOMY="+roomy.socket, "FLAKEWARD_BENCH_DEFAULT="+usual.socket)
	}})[0]
	for _, of := range []struct {
		what, value, note string
		atMost            float64 // -1: no target
	}{
		{"Next, layout with room, an ID", "BenchmarkNext ns/op", "one goroutine", 15e-9},
		{"Next, layout with room, goroutines on all processors, an ID", "BenchmarkNextParallel ns/op", "time an ID, all of them together", -1},
		{"Next, default layout, an ID", "BenchmarkNextAtTheCeiling ns/op", "at the ceiling: 4,096 in each millisecond are one in 244 ns", 1. / ceiling / equal},
		{"Take of 1,000, layout with room, an ID", "BenchmarkTake1000 ns/ID", "one goroutine", -1},
		{"allocations of a call to Next", "BenchmarkNext allocs/op", "one goroutine", 0},
		{"the same, goroutines on all processors", "BenchmarkNextParallel allocs/op", "", 0},
		{"the same, default layout", "BenchmarkNextAtTheCeiling allocs/op", "", 0},
	} {
		f := report.Figure{Group: "Go client", What: of.what, Unit: report.Number, Note: of.note, Ours: column(got, of.value)}
		switch {
		case of.atMost == 0:
			s.add(f.EachAtMost(0))
			continue
		case of.atMost > 0:
			f = f.AtMost(of.atMost)
		}
		f.Unit = report.Seconds
		for i := range f.Ours {
			f.Ours[i] *= 1e-9
		}
		s.add(f)
	}
}

// inProcess compares the generator with libraries, each in a process of its own that does nothing
// else: how many IDs each makes, and where one meets a ceiling also what an ID takes of the
// processors.
func inProcess(s *section) {
	for _, module := range []string{"github.com/bwmarrin/snowflake", "github.com/sony/sonyflake/v2"} {
		s.version(module, "go", "list", "-m", "-f", "{{.Version}}", module)
	}
	names := slices.Sorted(maps.Keys(generators))
	for _, goroutines := range []int{1, 64} {
		what := map[int]string{1: "1 goroutine", 64: "64 goroutines"}[goroutines]
		var all []contestant
		for _, name := range names {
			all = append(all, contestant{name, func() sample {
				benchmark := fmt.Sprintf("BenchmarkGenerator/%s/%d", name, goroutines)
				got := s.benchmarks(must.Get(os.Executable())(s), "^BenchmarkGenerator$/^"+name+"$/^"+fmt.Sprint(goroutines)+"$", length(400*time.Millisecond))
				return sample{"rate": 1e9 / got[benchmark+" ns/op"], "cpu": got[benchmark+" cpu-ns/op"] * 1e-9}
			}})
		}
		got := s.inTurn(times(fullRounds, 1), all...)
		of := func(name string) []sample { return got[slices.Index(names, name)] }
		for _, p := range []struct {
			what, ours, theirs, peer string
			atLeast                  float64
		}{
			{"layout with room", "flakeward_room", "bwmarrin_room", "bwmarrin/snowflake, room", 1},
			{"layout with room", "flakeward_room", "sonyflake_room", "sonyflake, room", 1},
			{"at a ceiling of 4,096,000/s", "flakeward_12_bits", "bwmarrin", "bwmarrin/snowflake", equal},
			{"at a ceiling of 25,600/s", "flakeward_8_bits", "sonyflake", "sonyflake", equal},
		} {
			const group = "In process, one ID a call"
			s.add(versus(group, p.what+", "+what, report.Rate, of(p.ours), p.peer, of(p.theirs), "rate").RatioAtLeast(p.atLeast))
			if p.atLeast == equal {
				s.add(versus(group, p.what+", "+what+": processor time an ID", report.Seconds, of(p.ours), p.peer, of(p.theirs), "cpu"))
			}
		}
	}
}

// BenchmarkGenerator is an ID of a generator in this process. All are called alike: one ID a call,
// in a loop that does nothing else. A generator whose tick is used up waits as it was made to:
// bwmarrin/snowflake polls the clock, sonyflake sleeps with its lock held, and flakeward tells its
// caller how long to wait, who does so on a timer and asks again.
func BenchmarkGenerator(b *testing.B) {
	for name, open := range generators {
		for _, goroutines := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", name, goroutines), func(b *testing.B) {
				generate(b, open(b), goroutines)
			})
		}
	}
}

// generate has goroutines make b.N IDs altogether. What IDs go to has a cache line to itself.
func generate(b *testing.B, open callers, goroutines int) {
	before := cpu()
	b.ResetTimer()
	if goroutines == 1 {
		next, sink := open(), uint64(0)
		for range b.N {
			sink = next()
		}
		runtime.KeepAlive(sink)
	} else {
		b.SetParallelism(max(1, goroutines/runtime.GOMAXPROCS(0)))
		b.RunParallel(func(pb *testing.PB) {
			next, sink := open(), uint64(0)
			for pb.Next() {
				sink = next()
			}
			runtime.KeepAlive(sink)
		})
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// callers makes a function for each goroutine, which makes an ID at each call.
type callers func() func() uint64

// generators are all that are measured. The pairs of layouts that are compared with one another
// have the same number of bits for the sequence and the same tick.
var generators = map[string]func(b *testing.B) callers{
	"flakeward_room":    flakeward("time=41@1ms,worker=2,sequence=20;epoch=2026-01-01"),
	"flakeward_12_bits": flakeward("flakeward"),
	"flakeward_8_bits":  flakeward("sonyflake;epoch=2026-01-01"),
	"bwmarrin_room":     bwmarrin(2, 20),
	"bwmarrin":          bwmarrin(10, 12),
	"sonyflake_room":    sony(sonyflake.Settings{BitsSequence: 20, BitsMachineID: 2, TimeUnit: time.Millisecond}),
	"sonyflake":         sony(sonyflake.Settings{}),
}

// bwmarrin's layout is set for the whole process.
func bwmarrin(nodeBits, stepBits uint8) func(b *testing.B) callers {
	return func(b *testing.B) callers {
		snowflake.NodeBits, snowflake.StepBits = nodeBits, stepBits
		node := must.Get(snowflake.NewNode(1))(b)
		return func() func() uint64 { return func() uint64 { return uint64(node.Generate()) } }
	}
}

func sony(settings sonyflake.Settings) func(b *testing.B) callers {
	return func(b *testing.B) callers {
		settings.MachineID = func() (int, error) { return 1, nil }
		f := must.Get(sonyflake.New(settings))(b)
		next := func() uint64 {
			id, err := f.NextID()
			if err != nil {
				panic(err)
			}
			return uint64(id)
		}
		return func() func() uint64 { return next }
	}
}

// flakeward makes IDs as the daemon does, for connections that ask for the next one as soon as they
// have one, from a lane whose ceiling is out of reach.
func flakeward(layout string) func(b *testing.B) callers {
	return func(b *testing.B) callers {
		l := must.Get(generator.ParseLayout(layout))(b)
		lane := must.Get(generator.NewLane(l, 0, 1, 0))(b)
		lane.Raise(l.MaxTick())
		tick := time.Duration(l.TickLength())
		guard := must.Get(clockguard.NewLimits(max(5*time.Millisecond, tick), max(2*time.Second, 2*tick), tick))(b)
		i := issue.New(l, clockguard.System{}, issue.Limits{Guard: guard, MaxBlock: time.Minute}, nobody{})
		i.Use(lane)
		return func() func() uint64 {
			c := new(issue.Connection)
			return func() uint64 {
				run, wait := i.Take(c, 0, 1)
				for run.N == 0 {
					if wait.Err != nil {
						panic(wait.Err)
					}
					<-time.After(wait.For)
					run, wait = i.Take(c, 0, 1)
				}
				c.BeginQueued()
				return uint64(run.First)
			}
		}
	}
}

// nobody lends nothing: the lane is never given up.
type nobody struct{}

func (nobody) ReLease(*generator.Lane) {}
func (nobody) ExtendNow()              {}
func (nobody) CanAcquire() bool        { return false }
func (nobody) Condition() error        { return nil }
