package generator

// Roll has a tick begin where the last one that was issued stopped, so that the numbers go round
// and id % N is even at low rates as well: it begins at that number modulo a quarter of the
// tick's numbers. The numbers below it are never given.
//
// The ceiling stays what it is, because a tick begins no higher than what the last one left: above
// three quarters it is taken modulo an eighth, and a tick after one that left less than an eighth
// begins at 0. So does a tick below Highest, where room is scarce, and one that TakeFirst begins.
//
// Roll changes nothing where the sequence is not the lowest field or has less than 3 bits. It must
// be called before the first Take.
func (ln *Lane) Roll() {
	if quarter := ln.capacity / 4; ln.seqShift == 0 && quarter > 1 {
		ln.quarter = quarter
	}
}

// begin moves the slot of tick t on from word, which is of an earlier tick, unless another did. It
// takes no number. The tick begins as Roll says with that quarter, and at 0 with a quarter of 0.
func (r *ring) begin(ln *Lane, t Tick, word, quarter uint64) {
	r.slots[uint64(t)&ln.mask].CompareAndSwap(word, uint64(t)<<ln.usedBits|r.start(ln, t, quarter))
}

// beginAtZero begins tick t at number 0 if it may be issued and nobody has begun it.
func (r *ring) beginAtZero(ln *Lane, t Tick) {
	word := r.slots[uint64(t)&ln.mask].Load()
	if Tick(word>>ln.usedBits) < t && int64(t) <= ln.ceiling.Load() {
		r.begin(ln, t, word, 0)
	}
}

// start returns the number at which tick t would begin: 0 to quarter - 1. Which one it is decides
// evenness alone: the slot says what was given.
func (r *ring) start(ln *Lane, t Tick, quarter uint64) uint64 {
	last := ln.highest.Load()
	if quarter == 0 || int64(t) <= last {
		return 0
	}
	stopped := r.slots[uint64(last)&ln.mask].Load() & ln.usedMask
	switch left := ln.capacity - stopped; {
	case left >= quarter:
		return stopped & (quarter - 1)
	case left >= quarter/2:
		return stopped & (quarter/2 - 1)
	}
	return 0
}
