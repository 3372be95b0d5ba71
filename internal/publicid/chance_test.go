package publicid

import (
	"fmt"
	"math"
	"math/bits"
	"testing"
)

// chance is what the tests of chance look at: a permutation of 63 bits, by its name.
type chance struct {
	name string
	of   func(uint64) uint64
}

// far is how many standard deviations from its mean a figure may lie. The largest test compares
// some 16,000 figures, of which none is so far off by chance but in one of 10,000 keys; the keys
// here are fixed, so no run fails by chance.
const far = 6

// looked is how many consecutive IDs are looked at.
func looked() int {
	if *long {
		return 1 << 19
	}
	return 1 << 13
}

// consecutive are the firsts of the runs of IDs that are looked at: within a tick, and from tick
// to tick.
var consecutive = []struct{ start, step uint64 }{{1 << 60, 1}, {1 << 60, 1 << 22}}

// uniform says what is not evenly spread over the permuted numbers of consecutive IDs: single bits,
// pairs of bits, and the values of each of their bytes, by chi-square; and what neighbours differ in.
func uniform(c chance) (wrong []string) {
	count := looked()
	for _, run := range consecutive {
		var ones [idBits]int
		var equal, changed [idBits][idBits]int
		var values [8][256]int
		last, rises := uint64(0), 0
		for i := range uint64(count) {
			y := c.of(run.start + i*run.step)
			if y > last {
				rises++
			}
			for b := range idBits {
				bit := y >> b & 1
				ones[b] += int(bit)
				// Bit by bit, whether it equals bit b, in y and in what changed since the last.
				same, diff := y^(-bit)^^uint64(0), (y ^ last)
				diff = diff ^ (-(diff >> b & 1)) ^ ^uint64(0)
				for other := range b {
					equal[b][other] += int(same >> other & 1)
					changed[b][other] += int(diff >> other & 1)
				}
			}
			for b := range values {
				values[b][byte(y<<1>>(8*b))]++ // shifted, as the highest bit is always 0
			}
			last = y
		}
		half := func(what string, n int) {
			if z := (float64(n) - float64(count)/2) / math.Sqrt(float64(count)/4); math.Abs(z) > far {
				wrong = append(wrong, fmt.Sprintf("steps of %d: %s: %d of %d, %.1f deviations off", run.step, what, n, count, z))
			}
		}
		half("a public ID above the one before", rises)
		for b := range idBits {
			half(fmt.Sprintf("bit %d set", b), ones[b])
			for other := range b {
				half(fmt.Sprintf("bits %d and %d equal", b, other), equal[b][other])
				half(fmt.Sprintf("bits %d and %d equal in what changes", b, other), changed[b][other])
			}
		}
		for b := range values {
			cells := 256
			if b == 0 { // whose lowest bit is the 0 that was shifted in
				cells = 128
			}
			if z := deviation(values[b][:], float64(count)/float64(cells), cells); math.Abs(z) > far {
				wrong = append(wrong, fmt.Sprintf("steps of %d: byte %d: chi-square %.1f deviations off", run.step, b, z))
			}
		}
	}
	return wrong
}

// deviation is how many standard deviations the chi-square of counts lies from its mean. Counts of
// 0 in cells that cannot be hit do not count.
func deviation(counts []int, want float64, cells int) float64 {
	sum := 0.0
	hit := 0
	for _, n := range counts {
		if n > 0 {
			sum += (float64(n) - want) * (float64(n) - want) / want
			hit++
		}
	}
	sum += float64(cells-hit) * want
	freedom := float64(cells - 1)
	return (sum - freedom) / math.Sqrt(2*freedom)
}

// avalanche says which bits of the permuted number do not change half of the time as one bit of the
// ID does, and whether the numbers of changes are not those of 63 coins.
func avalanche(c chance) (wrong []string) {
	count := looked() / 4
	var flips [idBits][idBits]int
	var pairs [idBits]float64
	var changes [idBits + 1]int
	for i := range uint64(count) {
		x := 1<<60 + i
		y := c.of(x)
		for in := range idBits {
			if i>>in&1 == 1 {
				continue // the other half of a pair that is looked at
			}
			diff := y ^ c.of(x^1<<in)
			pairs[in]++
			changes[bits.OnesCount64(diff)]++
			for out := range idBits {
				flips[in][out] += int(diff >> out & 1)
			}
		}
	}
	for in := range idBits {
		for out := range idBits {
			if z := (float64(flips[in][out]) - pairs[in]/2) / math.Sqrt(pairs[in]/4); math.Abs(z) > far {
				wrong = append(wrong, fmt.Sprintf("bit %d changes bit %d %d times of %.0f, %.1f deviations off", in, out, flips[in][out], pairs[in], z))
			}
		}
	}
	// Chi-square of how many bits change, in the cells that 63 coins fill well.
	sum, freedom, total := 0.0, -1.0, 0.0
	for _, n := range pairs {
		total += n
	}
	choose := binomials()
	for n := range changes {
		want := total * choose[n] / math.Exp2(idBits)
		if want >= 20 {
			sum += (float64(changes[n]) - want) * (float64(changes[n]) - want) / want
			freedom++
		}
	}
	if z := (sum - freedom) / math.Sqrt(2*freedom); math.Abs(z) > far {
		wrong = append(wrong, fmt.Sprintf("how many bits change: chi-square %.1f deviations off", z))
	}
	return wrong
}

// binomials are the binomial coefficients of idBits.
func binomials() (row [idBits + 1]float64) {
	row[0] = 1
	for n := 1; n <= idBits; n++ {
		row[n] = row[n-1] * float64(idBits-n+1) / float64(n)
	}
	return row
}

func TestPermutedBitsLookLikeChance(t *testing.T) {
	for _, key := range []string{key128, key256} {
		c := chance{"FF1", permutationOf(t, key, idBits).encrypt}
		for _, w := range uniform(c) {
			t.Error(w)
		}
		for _, w := range avalanche(c) {
			t.Error(w)
		}
	}
	if !t.Failed() {
		t.Logf("FIGURE %d consecutive IDs, of a tick and of as many ticks: no bit, pair of bits, byte or avalanche is %d deviations off", looked(), far)
	}
}

// The tests of chance find permutations that hide too little.
func TestWeakPermutationsAreFound(t *testing.T) {
	p := permutationOf(t, key128, idBits)
	// fewer is the network with fewer rounds.
	fewer := func(rounds int) func(uint64) uint64 {
		return func(x uint64) uint64 {
			var s [16]byte
			high, low := x>>p.v, x&mask(p.v)
			for i := range rounds {
				high, low = low, (high+p.round(&s, i, low))&mask(p.target(i))
			}
			return high<<p.v | low
		}
	}
	for _, c := range []chance{
		{"the ID itself", func(x uint64) uint64 { return x }},
		{"a multiple", func(x uint64) uint64 { return x * 0x9e3779b97f4a7c15 & mask(idBits) }},
		{"bits upside down", func(x uint64) uint64 { return bits.Reverse64(x) >> 1 }},
		{"two rounds", fewer(2)},
		{"one half permuted", func(x uint64) uint64 { return x>>32<<32 | p.encrypt(x)&mask(32) }},
	} {
		if len(uniform(c)) == 0 || len(avalanche(c)) == 0 {
			t.Errorf("%s passes for chance: %d and %d complaints", c.name, len(uniform(c)), len(avalanche(c)))
		}
	}
}
