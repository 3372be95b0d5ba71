package evidence

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// Last is the run's last ID.
func (r Run) Last() int64 { return r.First + r.Step*int64(r.N-1) }

// check returns what makes r impossible.
func (r Run) check() error {
	if r.Step < 1 || r.N < 1 {
		return fmt.Errorf("a run of %d IDs with a step of %d: both are at least 1", r.N, r.Step)
	}
	above, reach := bits.Mul64(uint64(r.Step), uint64(r.N-1))
	if above != 0 || reach > math.MaxInt64-uint64(r.First) {
		return fmt.Errorf("a run of %d IDs from %d with a step of %d: its last ID is above the largest number", r.N, r.First, r.Step)
	}
	return nil
}

// append writes r, seen from *next: the ID that would follow the run before.
func (r Run) append(b []byte, next *int64) []byte {
	b = binary.AppendVarint(b, r.First-*next)
	*next = r.Last() + r.Step
	if r.Step == 1 {
		return binary.AppendUvarint(b, uint64(r.N)<<1)
	}
	b = binary.AppendUvarint(b, uint64(r.N)<<1|1)
	return binary.AppendUvarint(b, uint64(r.Step))
}

// run reads what append wrote.
func (p *payload) run(next *int64) Run {
	r := Run{First: *next + p.int(), Step: 1}
	n := p.uint()
	r.N = int(n >> 1)
	if n&1 != 0 {
		r.Step = int64(p.uint())
	}
	if p.bad || r.check() != nil {
		p.bad = true
		return Run{}
	}
	*next = r.Last() + r.Step
	return r
}
