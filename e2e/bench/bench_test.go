package bench

import (
	"flag"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
)

var (
	page   = flag.String("page", "", "the `directory` of the page, for which everything is measured often and long enough; empty: briefly, and no page is written")
	binary = flag.String("daemon", "", "the daemon's `program`; empty: build it")
)

// TestMain has this program be the other processes that sections start, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && selves[os.Args[1]] != nil {
		selves[os.Args[1]](fatal{}, os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// selves are the other processes, each of which is told one thing.
var selves = map[string]func(t must.T, what string){"constant": serveConstant, "pace": keepPace}

// fatal ends such a process where a step fails.
type fatal struct{}

func (fatal) Helper()           {}
func (fatal) Fatal(what ...any) { log.Fatal(what...) }

// sections is everything that is measured, in the page's order.
var sections = []struct {
	name, about string
	measure     func(*section)
}{
	{"start", "from the start of the process to the first ID", starts},
	{"socket", "single IDs over the socket, next to Redis", socket},
	{"http", "single IDs over HTTP, next to a constant from the same library", web},
	{"grpc", "calls and streams of gRPC, next to a constant from the same library", grpc},
	{"open", "latency of single IDs at a fixed rate, next to Redis", openLoop},
	{"idle", "connections that do nothing, next to Redis", idle},
	{"goclient", "the Go client, an ID a call", goClient},
	{"process", "one ID a call within one process, next to libraries", inProcess},
}

// section is one that is being measured.
type section struct {
	*testing.T
	binary string // the daemon
	found  report.Section
}

// TestBench measures the sections one after the other. After each the page is written, so that an
// interruption costs one section.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts daemons and loads them")
	}
	program := *binary
	if program == "" {
		program = must.Get(process.BuildNormal(t.Context(), t.TempDir()))(t)
	}
	machine, results, names := describe(t, program), report.Results{}, []string(nil)
	for _, s := range sections {
		names = append(names, s.name)
	}
	write := func() {
		if *page == "" {
			return
		}
		results.Keep(names)
		must.Do(t, results.Save(filepath.Join(*page, "benchmarks.json")), report.Replace(filepath.Join(*page, "benchmarks.md"), results.Page()))
	}
	if *page != "" {
		results = must.Get(report.Load(filepath.Join(*page, "benchmarks.json")))(t)
	}
	write() // else a long measurement would end with nowhere to write
	t.Logf("%v; load %s", machine, loadAverage(t))
	for _, of := range sections {
		t.Run(of.name, func(t *testing.T) {
			begun := time.Now()
			s := &section{T: t, binary: program, found: report.Section{
				Name: of.name, About: of.about, Begun: begun.UTC().Truncate(time.Second), Machine: machine, Load: loadAverage(t), Versions: map[string]string{},
			}}
			of.measure(s)
			s.found.Took, s.found.After = time.Since(begun).Seconds(), loadAverage(t)
			for _, f := range s.found.Figures {
				if len(f.Ours) == 0 || *page != "" && len(f.Ours) < fullRounds {
					t.Errorf("%s, %s: measured in %d rounds, which is too few", f.Group, f.What, len(f.Ours))
				}
			}
			var tables strings.Builder
			must.Do(t, report.Results{Sections: []report.Section{s.found}}.Tables(&tables))
			t.Logf("%.0f s\n%s", s.found.Took, &tables)
			if !t.Failed() {
				results.Put(s.found)
				write()
			}
		})
	}
}

// fullRounds is how often what is compared or judged is measured, at least.
const fullRounds = 7

// times is how often something is repeated.
func times(long, short int) int {
	if *page == "" {
		return short
	}
	return long
}

// length is how long a round is.
func length(long time.Duration) time.Duration {
	if *page == "" {
		return long / 4
	}
	return long
}

// sample is what one round measured, by names.
type sample map[string]float64

// contestant is measured once in each round.
type contestant struct {
	name    string
	measure func() sample
}

// inTurn measures A B C A B C and so on, in the order given, so that whatever slows the machine
// down for a while slows all of them, and returns the rounds of each.
func (s *section) inTurn(rounds int, all ...contestant) [][]sample {
	s.Helper()
	got := make([][]sample, len(all))
	for round := range rounds {
		for i, c := range all {
			got[i] = append(got[i], c.measure())
			if s.Failed() {
				s.Fatalf("that was %s, round %d of %d", c.name, round+1, rounds)
			}
		}
	}
	return got
}

// column is one value of each of a contestant's rounds.
func column(rounds []sample, name string) (all []float64) {
	for _, r := range rounds {
		if v, ok := r[name]; ok {
			all = append(all, v)
		}
	}
	return all
}

// versus is a figure of ours next to a peer's.
func versus(group, what string, unit report.Unit, ours []sample, peer string, theirs []sample, name string) report.Figure {
	return report.Figure{Group: group, What: what, Unit: unit, Ours: column(ours, name), Peer: peer, Theirs: column(theirs, name)}
}

// add puts figures to those of the section.
func (s *section) add(figures ...report.Figure) {
	s.found.Figures = append(s.found.Figures, figures...)
}

// version notes what a program prints first of its version.
func (s *section) version(name, program string, args ...string) {
	s.Helper()
	s.found.Versions[name] = says(s, program, args...)
}

// says is the first line that a program prints.
func says(t testing.TB, program string, args ...string) string {
	t.Helper()
	line, _, _ := strings.Cut(string(must.Get(exec.CommandContext(t.Context(), program, args...).Output())(t)), "\n")
	return line
}

// describe says what the figures are measured on and with.
func describe(t *testing.T, program string) report.Machine {
	t.Helper()
	proc := must.Get(procfs.NewDefaultFS())(t)
	memory, u := must.Get(proc.Meminfo())(t), unix.Utsname{}
	clock := must.Get(os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource"))(t)
	must.Do(t, unix.Uname(&u))
	var kernel []string
	for _, part := range [][65]byte{u.Sysname, u.Release, u.Machine} {
		kernel = append(kernel, unix.ByteSliceToString(part[:]))
	}
	return report.Machine{
		Processor:  must.Get(proc.CPUInfo())(t)[0].ModelName,
		Processors: runtime.NumCPU(),
		Memory:     report.Format(report.Bytes, float64(*memory.MemTotalBytes)),
		Kernel:     strings.Join(kernel, " "),
		Clock:      strings.TrimSpace(string(clock)),
		Go:         runtime.Version(),
		Daemon:     says(t, program, "version"),
	}
}

func loadAverage(t *testing.T) string {
	t.Helper()
	return strings.Join(strings.Fields(string(must.Get(os.ReadFile("/proc/loadavg"))(t)))[:3], " ")
}
