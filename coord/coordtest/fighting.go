package coordtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/audit/linear"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

var fighting = []testCase{
	{"fighting: whatever is lost meanwhile, the calls of all can be put in an order", fought},
}

const (
	fighters = 4 // for one worker ID less
	blows    = 80
)

// fought has fighters claim, extend and release, while requests and replies are lost and sessions
// end, and judges each worker ID's calls by what package linear says of them.
func fought(k *kit) {
	k.workers = fighters - 1
	var f fight
	var all sync.WaitGroup
	for i := range fighters {
		one := &fighter{fight: &f, kit: k, number: i, random: rand.New(rand.NewPCG(uint64(i), 0))}
		one.begin()
		all.Go(func() {
			for range blows {
				one.blow()
			}
		})
	}
	all.Wait()
	if k.Failed() {
		return
	}
	end := f.now()
	for _, m := range k.marks(k.operator()) {
		f.note(linear.Op{Kind: linear.Read, Call: end, Return: f.now(), Worker: m.Worker,
			Found: history.Version{Worker: m.Worker, Ceiling: m.Ceiling, Issued: m.Issued, Holder: m.Holder}})
	}
	if done := f.done(); done[linear.Open] < 2*fighters || done[linear.Extend] < 2*fighters || done[linear.Release] == 0 || done[linear.End] == 0 {
		k.Errorf("what was done by kind: %v: that is no fight", done)
	}
	for _, v := range linear.Check(f.all, 0, time.Minute) {
		k.Errorf("worker ID %d: no order of its calls is one that may be (undecided: %v); the last by their ends:", v.Worker, v.Undecided)
		for _, o := range v.Until[max(0, len(v.Until)-12):] {
			k.Logf("%d to %d, %d: %v", o.Call, o.Return, o.Client, o)
		}
	}
}

// fight is what all have done.
type fight struct {
	clock   clockguard.System
	unknown atomic.Int64 // openings that nobody was told of
	harness sync.Mutex   // which is not made for several at once

	mu  sync.Mutex
	all []linear.Op
}

func (f *fight) now() int64 { return int64(f.clock.Now().Mono) }

func (f *fight) note(o linear.Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, o)
}

// done counts what was done, by kind.
func (f *fight) done() map[linear.Kind]int {
	counts := map[linear.Kind]int{}
	for _, o := range f.all {
		if o.Outcome == linear.Done {
			counts[o.Kind]++
		}
	}
	return counts
}

// fighter is one daemon, with one claim at the most.
type fighter struct {
	*fight
	kit    *kit
	number int
	random *rand.Rand
	node   *node

	claim           coord.Claim // nil: none; and how far the last one came
	ceiling, issued generator.Tick
}

func (f *fighter) begin() {
	f.harness.Lock()
	defer f.harness.Unlock()
	f.node = f.kit.start(fmt.Sprintf("host %d", f.number))
}

// fault has a request of the next call fail.
func (f *fighter) fault() {
	f.harness.Lock()
	defer f.harness.Unlock()
	f.kit.wires[f.node.Coordinator].Faults.Arm(f.random.IntN(3), f.random.IntN(2) == 0)
}

// revoke ends the session.
func (f *fighter) revoke() {
	f.harness.Lock()
	defer f.harness.Unlock()
	f.kit.revoke(f.node)
}

// blow is one call, or the end of the session. One request of some calls, or its reply, is lost.
func (f *fighter) blow() {
	if f.random.IntN(4) == 0 {
		f.fault()
	}
	switch n := f.random.IntN(10); {
	case n == 0:
		f.lose()
	case f.claim == nil:
		f.open()
	case n < 3:
		f.release()
	default:
		f.extend()
	}
}

// lose ends the session. Half of the fighters begin anew, and the others do not know of it.
func (f *fighter) lose() {
	o := linear.Op{Client: f.number, Kind: linear.End, Call: f.now()}
	f.revoke()
	if o.Return = f.now(); f.claim != nil {
		o.Worker, o.Opening = f.claim.Worker(), f.claim.Opening()
		f.note(o)
	}
	if f.random.IntN(2) == 0 {
		f.claim = nil
		f.begin()
	}
}

// open claims. Each opening is an operation of its own: where another is tried, others were faster.
func (f *fighter) open() {
	var o *linear.Op // that is under way
	failed := func(by int64) {
		if o != nil {
			o.Return, o.By = f.now(), by
			o.Outcome, o.Opening = linear.Unknown, fmt.Sprint(linear.Unseen, f.unknown.Add(1))
			f.note(*o)
			o = nil
		}
	}
	request := anyone()
	request.Before = func(worker int) error {
		failed(f.now()) // a try whose reply was lost may have been stored, and another after it
		if worker != coord.AnyWorker {
			o = &linear.Op{Client: f.number, Kind: linear.Open, Call: f.now(), Worker: worker}
		}
		return nil
	}
	claim, err := f.node.Claim(f.kit.Context(), request)
	if err != nil {
		failed(0)
		return
	}
	o.Return, o.Opening, o.Floor = f.now(), claim.Opening(), claim.Floor()
	f.claim, f.ceiling, f.issued = claim, claim.Floor(), 0
	f.note(*o)
	o = nil // the claim asks Before when it makes its node again
}

func (f *fighter) extend() {
	f.ceiling += generator.Tick(1 + f.random.IntN(100))
	progress := coord.Progress{Ceiling: f.ceiling, Issued: f.issued}
	if f.random.IntN(2) == 0 {
		progress.Issued = f.ceiling - 1
	}
	o := linear.Op{Client: f.number, Kind: linear.Extend, Progress: progress}
	f.call(o, func() error {
		err := f.claim.Extend(f.kit.Context(), progress)
		if err == nil {
			f.issued = progress.Issued
		}
		return err
	})
}

// release is tried until its outcome is known.
func (f *fighter) release() {
	o := linear.Op{Client: f.number, Kind: linear.Release, To: max(f.issued, f.ceiling-generator.Tick(f.random.IntN(50)))}
	for f.call(o, func() error { return f.claim.Release(f.kit.Context(), Closed(o.To)) }) == linear.Unknown {
	}
	f.claim = nil
}

// call makes a call on the claim.
func (f *fighter) call(o linear.Op, make func() error) linear.Outcome {
	o.Worker, o.Opening, o.Call = f.claim.Worker(), f.claim.Opening(), f.now()
	err := make()
	o.Return = f.now()
	switch {
	case errors.Is(err, coord.ErrLost):
		o.Outcome = linear.Lost
		if o.Kind == linear.Extend {
			f.claim = nil
		}
	case err != nil:
		o.Outcome = linear.Unknown
	}
	f.note(o)
	return o.Outcome
}
