package update

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/faultproxy"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// What happens to a process at a step.
const (
	killed  = "killed"
	stopped = "stopped"
	cut     = "cut off" // both sides, from the coordinator
	joined  = "another newcomer comes"
)

var kinds = []string{killed, stopped, cut, joined}

type disturbance struct {
	step fault.Step
	kind string
}

// bound is for a machine that is busy with much else; the figure that is printed is what counts.
const bound = 30 * time.Second

// stage is a host whose daemons stop where they are told to.
type stage struct {
	*testing.T
	*process.Host
	proxy      *faultproxy.Proxy // nil: the coordinator is a directory
	stopAt     string
	random     *rand.Rand
	issued     []int64
	mostServed time.Duration
}

func newStage(t *testing.T, program, coord string, proxy *faultproxy.Proxy) *stage {
	t.Helper()
	dir := sockettest.Dir(t) + "/h"
	h := must.Get(process.NewHost(program, dir, "--coord", coord, "--takeover", "--max-block", "1m"))(t)
	s := &stage{T: t, Host: h, proxy: proxy, stopAt: dir + "/stop", random: rand.New(rand.NewPCG(3, 4))}
	h.Env = []string{fault.StopAt + "=" + s.stopAt}
	return s
}

// some is a time up to most, or, in the long form, some of them up to longest.
func (s *stage) some(most, longest time.Duration) time.Duration {
	if *long && s.random.IntN(4) == 0 {
		most = longest
	}
	return time.Duration(s.random.Int64N(int64(most)))
}

// disturb has one daemon take over from d, with what is to happen, and returns who serves then.
func (s *stage) disturb(d *process.Daemon, what disturbance) *process.Daemon {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), bound)
	defer cancel()
	must.Do(s, os.WriteFile(s.stopAt+".next", []byte(what.step), 0o600))
	must.Do(s, os.Rename(s.stopAt+".next", s.stopAt))
	c := ask(s.T, s.Socket, 4, true)
	all := []*process.Daemon{d, launch(s.T, s.Host)}
	victim := s.paused(ctx, what.step, all)
	begun := time.Now()
	switch what.kind {
	case killed:
		must.Do(s, victim.Kill())
	case stopped:
		<-time.After(s.some(600*time.Millisecond, 10*time.Second)) // above and below what one message may take
		begun = time.Now()
		must.Do(s, victim.Resume())
	case cut:
		s.proxy.CutAll()
		must.Do(s, victim.Resume())
		// Neither has its grant extended, and a newcomer that has no worker ID yet can claim none.
		<-time.After(s.some(3*time.Second, 10*time.Second))
		begun = time.Now()
		s.proxy.Open()
	case joined:
		all = append(all, launch(s.T, s.Host))
		<-time.After(100*time.Millisecond + s.some(400*time.Millisecond, time.Second)) // it mostly asks meanwhile
		begun = time.Now()
		must.Do(s, victim.Resume())
	}
	last, served := s.last(all)
	s.mostServed = max(s.mostServed, served.Sub(begun))
	s.issued = append(s.issued, c.end()...)
	if what.kind == joined {
		for i, each := range all {
			lines := strings.Split(each.Tail(), "\n")
			if end := lines[len(lines)-1]; each != last && strings.Contains(end, "the daemon command failed") && strings.Contains(end, "in use") {
				s.Errorf("%s: daemon %d was refused:\n%s", what.step, i, each.Tail())
			}
		}
	}
	return last
}

// paused is who stops at the step. At newcomer/serves that may be the one that has just taken over.
func (s *stage) paused(ctx context.Context, step fault.Step, all []*process.Daemon) *process.Daemon {
	s.Helper()
	ctx, cancel := context.WithCancel(ctx)
	found, errs := make(chan *process.Daemon, len(all)), make(chan error, len(all))
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	for _, d := range all {
		looking.Go(func() {
			if err := d.AwaitPause(ctx); err != nil {
				errs <- err
				return
			}
			found <- d
		})
	}
	for range all {
		select {
		case d := <-found:
			return d
		case err := <-errs:
			s.Logf("%s: %v", step, err)
		}
	}
	s.Fatalf("nobody has paused at %s", step)
	return nil
}

// last waits until one of the daemons is left, and starts another where none is. It returns when
// somebody has given an ID.
func (s *stage) last(all []*process.Daemon) (last *process.Daemon, served time.Time) {
	all = slices.Clone(all)
	over, ended := make(chan struct{}), make(chan int, len(all))
	var waiting sync.WaitGroup
	for i, d := range all {
		waiting.Go(func() {
			<-d.Ended()
			ended <- i
		})
	}
	go func() {
		waiting.Wait()
		close(over)
	}()
	if !answers(s.T, s.Socket, over) {
		d := start(s.T, s.Host)
		return d, time.Now()
	}
	served = time.Now()
	left := len(all) - 1
	late := time.After(bound + 2*time.Second)
	for left > 0 {
		select {
		case i := <-ended:
			all[i] = nil
			left--
		case <-late:
			s.Fatalf("%d daemons too many are there:\n%s", left, all[0].Tail())
		}
	}
	return all[slices.IndexFunc(all, func(d *process.Daemon) bool { return d != nil })], served
}

// A takeover that is disturbed at any of its steps leaves one serving, and no ID comes twice.
func TestEachStepOfATakeoverIsDisturbed(t *testing.T) {
	program := must.Get(process.Build(t.Context(), t.TempDir()))(t)
	etcd, zookeeper := etcdtest.Start(t, etcdtest.Options{}), zktest.Start(t, zktest.Options{})
	servers := []string{"dir:" + filepath.Join(t.TempDir(), "coord"), "etcd://%s/steps", "zk://%s/steps"}
	addresses := []string{"", etcd.Endpoint(0), zookeeper.Addresses()[0]}
	var plans [3][]disturbance
	for range times(1, 5) {
		for i, step := range fault.Steps {
			for j, kind := range kinds {
				once := (i + j) % 3 // in the short form, each goes to one of the three
				if kind == cut && once == 0 {
					once = 1 + i%2 // nobody is cut off from a directory
				}
				for at := range plans {
					if at == once || *long && !(kind == cut && at == 0) {
						plans[at] = append(plans[at], disturbance{step, kind})
					}
				}
			}
		}
	}
	for at, plan := range plans {
		name, _, _ := strings.Cut(servers[at], ":")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			coord, proxy := servers[at], (*faultproxy.Proxy)(nil)
			if at > 0 {
				proxy = faultproxy.Listen(t, strings.TrimPrefix(addresses[at], "http://"))
				coord = fmt.Sprintf(coord, proxy.Address())
			}
			s := newStage(t, program, coord, proxy)
			s.random.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
			d, did := start(t, s.Host), map[string]int{}
			for _, what := range plan {
				begun := time.Now()
				d = s.disturb(d, what)
				did[what.kind]++
				if t.Failed() {
					t.Fatalf("at %s, %s", what.step, what.kind)
				}
				t.Logf("%s, %s: %v", what.step, what.kind, time.Since(begun).Round(time.Millisecond))
			}
			n := distinct(t, s.issued)
			t.Logf("FIGURE %d takeovers disturbed (%v), %d IDs: served again after %v at most", len(plan), did, n, s.mostServed.Round(time.Millisecond))
			if n < 1000 || s.mostServed > bound {
				t.Errorf("%d IDs came, and nobody served for %v", n, s.mostServed)
			}
		})
	}
}
