//go:build e2e

package drills

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/compose"
)

var (
	long  = flag.Bool("long", false, "the long form: many more faults")
	once  = flag.Bool("once", false, "the short form: each drill on one of the coordinators, in turn")
	seed  = flag.Int64("seed", 0, "what chance begins with; 0: another each time, which is printed")
	image = flag.String("image", daemonImage, "of the daemons, of the drill build")
	name  = flag.String("name", usual, "of this run: runs of different names do not meet, and have folders of their own")
)

// ended is the reports of all suites, when they have ended; finish prints it.
var finish atomic.Pointer[func()]

func TestMain(m *testing.M) {
	flag.Parse()
	// Two suites run side by side, also on one processor.
	if p := flag.Lookup("test.parallel"); p != nil && p.Value.String() == "1" {
		_ = p.Value.Set(strconv.Itoa(len(coordinators)))
	}
	// Who does not read our output any more does not end us in the middle: what was started has to
	// be removed.
	signal.Ignore(syscall.SIGPIPE)
	status := m.Run()
	if f := finish.Load(); f != nil {
		(*f)()
	}
	os.Exit(status)
}

// TestDrills runs all drills on each coordinator, the coordinators side by side. One drill alone:
// -run TestDrills/etcd/calm
func TestDrills(t *testing.T) {
	begun := time.Now()
	// The next signal is the end.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	t.Cleanup(stop)
	// Before go test ends us by a panic, which would leave everything where it is.
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, deadline.Add(-endTimeout-20*time.Second), errors.New("the time of all drills (-timeout) is over"))
		t.Cleanup(cancel)
	}
	s, err := newSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		// Whatever a drill could not remove, the tools that cut networks included.
		if err := errors.Join(s.engine.RemoveAll(ctx, s.prefix), s.lock.Close()); err != nil {
			t.Error(err)
		}
	})
	fmt.Printf("drills: %s; seed %d; evidence below %s\n", s.engine.Version(), s.seed, s.runs)

	suites := make([]*suite, len(coordinators))
	t.Cleanup(func() {
		var all []Record
		for _, s := range suites {
			if s != nil {
				all = append(all, s.drills...)
			}
		}
		if len(all) == 0 { // a name that is none must not look like success
			t.Error("no drill was run; the names are those in docs/drills.md: make e2e DRILL=/zombie, or DRILL=etcd/zombie")
			return
		}
		s.publish(begun, all)
		whole := 0
		for i := range coordinators {
			whole += len(wanted(i))
		}
		if len(all) == whole {
			if err := s.enough(all); err != nil {
				t.Error(err)
			}
		}
	})
	for i, c := range coordinators {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			suites[i] = &suite{session: s, coordinator: c, dir: filepath.Join(s.runs, c)}
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
				defer cancel()
				if err := suites[i].stop(ctx); err != nil {
					t.Errorf("the members are not removed: %v", err)
				}
			})
			for _, d := range wanted(i) {
				t.Run(d.Name, func(t *testing.T) {
					if ctx.Err() != nil {
						t.Fatalf("it was not run: %v", context.Cause(ctx))
					}
					suites[i].drill(ctx, t, d)
				})
			}
		})
	}
}

// wanted are the drills to be run on a coordinator, by its number.
func wanted(coordinator int) (all []Drill) {
	turn, directory := 0, coordinators[coordinator] == onDirectory
	for _, d := range drills {
		switch {
		case directory || d.On == onDirectory:
			if directory && (d.On == onDirectory || d.On == onAll) {
				all = append(all, d)
			}
			continue
		case !*once || turn%(len(coordinators)-1) == coordinator:
			all = append(all, d)
		}
		turn++
	}
	return all
}

// newSession checks that all is there that the drills need, and removes what a run of before may
// have left.
func newSession(ctx context.Context) (_ *session, err error) {
	engine, err := compose.Find(ctx)
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return nil, err
	}
	s := &session{
		engine: engine, image: *image, gate: &sync.RWMutex{}, root: root, runs: filepath.Join(root, "e2e", "runs"), prefix: prefixOf(*name, root),
		user: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), long: *long, seed: *seed,
	}
	if os.Getuid() == 0 {
		s.user = fmt.Sprintf("%d:%d", containerUser, containerUser)
	}
	if err := errors.Join(s.need(ctx, *image), s.need(ctx, sidecarImage)); err != nil {
		return nil, err
	}
	if *name == "" || strings.Trim(*name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return nil, fmt.Errorf("-name %q: lower case letters and digits only", *name)
	}
	if *name != usual {
		s.runs += "-" + *name
	}
	for s.seed == 0 {
		s.seed = rand.Int64N(1 << 31)
	}
	if err := os.MkdirAll(s.runs, 0o755); err != nil {
		return nil, err
	}
	if err := s.takeLock(); err != nil {
		return nil, err
	}
	if err := errors.Join(engine.RemoveAll(ctx, s.prefix), s.clear()); err != nil {
		return nil, fmt.Errorf("what an earlier run left cannot be removed: %w", err)
	}
	engine.Gate = s.gate.RLocker()
	return s, nil
}

// need is an error if there is no such image.
func (s *session) need(ctx context.Context, image string) error {
	ok, err := s.engine.HasImage(ctx, image)
	if err == nil && !ok {
		err = fmt.Errorf("there is no image %s: run the drills by make e2e, which builds it", image)
	}
	return err
}

// prefixOf is that of the containers of this name's runs on this checkout: another checkout may
// have runs on the same engine.
func prefixOf(name, root string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(root))
	return fmt.Sprintf("flakeward-drill-%s-%08x-", name, h.Sum32())
}

// usual is the name of a run that was given none.
const usual = "run"

const lockName = "lock"

// takeLock makes sure that no other run of this name is on, on this checkout.
func (s *session) takeLock() error {
	f, err := os.OpenFile(filepath.Join(s.runs, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return fmt.Errorf("another run of the drills is on in %s: wait for its end, or give this one a -name", s.runs)
	}
	s.lock = f
	return nil
}

// clear removes the evidence of an earlier run.
func (s *session) clear() error {
	entries, err := os.ReadDir(s.runs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.runs, e.Name())))
		}
	}
	return err
}

// enough is an error if all drills together did less than they are to show.
func (s *session) enough(drills []Record) error {
	leastIDs, leastFaults := uint64(10_000_000), 50
	if s.long {
		leastIDs, leastFaults = 100_000_000, 200
	}
	ids, faults := uint64(0), 0
	for _, d := range drills {
		ids += d.IDs
		faults += len(d.Faults)
	}
	if ids < leastIDs || faults < leastFaults {
		return fmt.Errorf("all drills together: %d IDs and %d faults, and at least %d and %d were to come", ids, faults, leastIDs, leastFaults)
	}
	return nil
}

// publish writes the report, and prepares the table, which is printed when all tests have ended.
func (s *session) publish(begun time.Time, drills []Record) {
	commit, _ := exec.Command("git", "-C", s.root, "rev-parse", "--short", "HEAD").Output()
	took := time.Since(begun).Round(time.Second)
	page := bytes.NewBufferString("# Drills\n\n")
	fmt.Fprintf(page, "%s, took %v, on %d processors, flakeward %s, seed %d\n\n", begun.UTC().Format("2006-01-02 15:04 UTC"), took, runtime.NumCPU(),
		bytes.TrimSpace(commit), s.seed)
	path := filepath.Join(filepath.Dir(s.runs), "report.md")
	if *name != usual {
		path = filepath.Join(s.runs, "report.md")
	}
	err := tabulate(page, drills)
	if err == nil {
		err = os.WriteFile(path, page.Bytes(), 0o644)
	}
	f := func() {
		if err != nil {
			fmt.Printf("the report was not written: %v\n", err)
		}
		fmt.Printf("\nreport: %s (seed %d, %v)\n", path, s.seed, took)
		_ = tabulate(os.Stdout, drills)
	}
	finish.Store(&f)
}
