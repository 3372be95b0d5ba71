package pace

// due holds the times of a connection's requests that are not answered yet, first in first out. It
// grows as needed.
type due struct {
	times       []int64 // a ring; its length is a power of 2
	first, past uint64  // of the requests, counted from 0
}

func (d *due) len() int { return int(d.past - d.first) }

func (d *due) push(at int64) {
	if d.len() == len(d.times) {
		grown := make([]int64, max(2*len(d.times), 64))
		for i := d.first; i != d.past; i++ {
			grown[i%uint64(len(grown))] = d.times[i%uint64(len(d.times))]
		}
		d.times = grown
	}
	d.times[d.past%uint64(len(d.times))] = at
	d.past++
}

// pop takes the oldest one. There must be one.
func (d *due) pop() int64 {
	at := d.times[d.first%uint64(len(d.times))]
	d.first++
	return at
}
