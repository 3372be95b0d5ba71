package audit

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// key is an ID with its fields put in another order: time, then what tells lanes apart, then the
// sequence. So the keys of a row of IDs within one tick follow each other without a gap whatever
// the layout is, and the keys of one lane rise as it issues.
type key int64

// row is n IDs of one tick and one lane; their keys are from, from+1, and so on.
type row struct {
	from key
	n    int
}

// shape takes the IDs of a layout apart.
type shape struct {
	layout   *generator.Layout
	tick     time.Duration // length
	span     generator.Tick
	maxID    int64
	capacity int64 // sequence numbers of a tick
	places   [4]place
	seqBits  uint
	lowBits  uint // all below the time in a key
	workers  int
}

// place is where a field is in an ID and in a key.
type place struct {
	width       uint
	inID, inKey uint
	mask        int64
}

const (
	atTime = iota
	atDatacenter
	atTenant
	atWorker
)

func shapeOf(l *generator.Layout) (*shape, error) {
	s := &shape{layout: l, tick: l.TickLength(), capacity: int64(l.Max(generator.Sequence)) + 1, workers: l.Workers()}
	s.seqBits = uint(l.Bits(generator.Sequence))
	lane, err := generator.NewLane(l, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	s.span = generator.Tick(lane.Span())
	total := s.seqBits
	// In the order of their places in a key, from the lowest.
	for _, f := range []struct {
		at    int
		field generator.Field
		one   generator.Parts
	}{
		{atWorker, generator.Worker, generator.Parts{Worker: 1}},
		{atTenant, generator.Tenant, generator.Parts{Tenant: 1}},
		{atDatacenter, generator.Datacenter, generator.Parts{Datacenter: 1}},
		{atTime, generator.Time, generator.Parts{Tick: 1}},
	} {
		p := place{width: uint(l.Bits(f.field)), inKey: total, mask: int64(l.Max(f.field))}
		if p.width > 0 {
			one, err := l.Compose(f.one)
			if err != nil {
				return nil, err
			}
			p.inID = uint(bits.TrailingZeros64(uint64(one)))
		}
		if f.at == atTime {
			s.lowBits = total
		}
		s.places[f.at] = p
		total += p.width
	}
	s.maxID = 1<<total - 1
	return s, nil
}

// keyOf is of an ID from 0 to maxID.
func (s *shape) keyOf(id int64) key {
	k := id / s.layout.Step() & (s.capacity - 1)
	for i := range s.places {
		p := &s.places[i]
		k |= id >> p.inID & p.mask << p.inKey
	}
	return key(k)
}

// id is the reverse of keyOf.
func (s *shape) id(k key) int64 {
	id := int64(k) & (s.capacity - 1) * s.layout.Step()
	for _, p := range s.places {
		id |= int64(k) >> p.inKey & p.mask << p.inID
	}
	return id
}

func (s *shape) tickOf(k key) generator.Tick { return generator.Tick(k >> s.lowBits) }

// laneOf is all that tells lanes apart: worker ID, tenant and datacenter.
func (s *shape) laneOf(k key) int64 { return int64(k) & (1<<s.lowBits - 1) >> s.seqBits }

func (s *shape) workerOf(k key) int {
	p := &s.places[atWorker]
	return int(int64(k) >> p.inKey & p.mask)
}

// rival reports whether two keys differ in the worker ID, and not in the tenant.
func (s *shape) rival(a, b key) bool {
	p := &s.places[atWorker]
	differ := s.laneOf(a) ^ s.laneOf(b)
	return differ != 0 && differ&^(p.mask<<(p.inKey-s.seqBits)) == 0
}

// group is the same for all keys of one tick and lane.
func (s *shape) group(k key) key { return k >> s.seqBits }

// ticks rounds nanoseconds up; what is below 0 is 0.
func (s *shape) ticks(ns int64) generator.Tick {
	if ns <= 0 {
		return 0
	}
	return generator.Tick((ns-1)/int64(s.tick) + 1)
}

// maxRun bounds the IDs of one entry; no request is for nearly as many.
const maxRun = 1 << 31

// split hands out the rows that r is made of, in its order. It returns false, and hands out none,
// if one of the integers is no ID of the layout. A run that no log can hold is an error.
func (s *shape) split(r evidence.Run, yield func(row)) (bool, error) {
	if r.N < 1 || r.Step < 1 || r.N > maxRun {
		return false, fmt.Errorf("a run of %d IDs with steps of %d is none", r.N, r.Step)
	}
	high, low := bits.Mul64(uint64(r.N-1), uint64(r.Step))
	if r.First < 0 || high != 0 || low > math.MaxInt64 || r.First > s.maxID || int64(low) > s.maxID-r.First {
		return false, nil
	}
	step := s.layout.Step()
	for id, left := r.First, int64(r.N); left > 0; {
		k, n := s.keyOf(id), int64(1)
		if r.Step == step {
			n = min(left, s.capacity-int64(k)&(s.capacity-1))
		}
		yield(row{k, int(n)})
		left -= n
		id += n * r.Step
	}
	return true, nil
}

// describe names an ID to a reader.
func (s *shape) describe(k key) string {
	return fmt.Sprintf("ID %d (worker ID %d, tick %d)", s.id(k), s.workerOf(k), s.tickOf(k))
}
