package publicid

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"sync"
)

// rounds is what NIST SP 800-38G has FF1 do.
const rounds = 10

// permutation is FF1 of NIST SP 800-38G with AES, radix 2 and no tweak: a Feistel network on
// numbers of some bits, whose halves are as equal as they can be: 31 and 32 of 63 bits.
type permutation struct {
	block cipher.Block
	// first is the first block of each round's CBC-MAC, encrypted: P in the standard, which is
	// the same for all numbers.
	first [aes.BlockSize]byte
	u, v  int // widths of the halves, the higher first
	b     int // bytes of the lower half
}

// newPermutation makes the permutation of the numbers below 2^bits, for 2 to 64 bits. The key has
// 16 or 32 bytes.
func newPermutation(key []byte, bits int) (*permutation, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	p := &permutation{block: block, u: bits / 2, v: bits - bits/2}
	p.b = (p.v + 7) / 8
	// Version 1, method 2 (FF), addition 1, radix 2 in three bytes, rounds, u, length, no tweak.
	parameters := [aes.BlockSize]byte{1, 2, 1, 0, 0, 2, rounds, byte(p.u), 11: byte(bits)}
	block.Encrypt(p.first[:], parameters[:])
	return p, nil
}

// scratch are blocks for AES, which would be allocated for each number otherwise.
var scratch = sync.Pool{New: func() any { return new([aes.BlockSize]byte) }}

// encrypt returns the number that x becomes.
func (p *permutation) encrypt(x uint64) uint64 {
	s := scratch.Get().(*[aes.BlockSize]byte)
	high, low := x>>p.v, x&mask(p.v)
	for i := range rounds {
		high, low = low, (high+p.round(s, i, low))&mask(p.target(i))
	}
	scratch.Put(s)
	return high<<p.v | low
}

// decrypt returns the number that became x.
func (p *permutation) decrypt(x uint64) uint64 {
	s := scratch.Get().(*[aes.BlockSize]byte)
	high, low := x>>p.v, x&mask(p.v)
	for i := rounds - 1; i >= 0; i-- {
		high, low = (low-p.round(s, i, high))&mask(p.target(i)), high
	}
	scratch.Put(s)
	return high<<p.v | low
}

// target is the width of the half that round i changes.
func (p *permutation) target(i int) int {
	if i%2 == 0 {
		return p.u
	}
	return p.v
}

// round is the CBC-MAC of P and of the block with round and half at its end; the standard takes
// the first 8 bytes of it as a number.
func (p *permutation) round(s *[aes.BlockSize]byte, i int, half uint64) uint64 {
	*s = p.first
	tail := binary.BigEndian.Uint64(s[8:])
	binary.BigEndian.PutUint64(s[8:], tail^(uint64(i)<<(8*p.b)|half))
	p.block.Encrypt(s[:], s[:])
	return binary.BigEndian.Uint64(s[:8])
}

func mask(bits int) uint64 { return 1<<bits - 1 }
