package evidence

import "encoding/binary"

// Last is the run's last ID.
func (r Run) Last() int64 { return r.First + r.Step*int64(r.N-1) }

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
	*next = r.Last() + r.Step
	return r
}
