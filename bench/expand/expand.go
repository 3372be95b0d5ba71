// Package expand keeps every single ID that a client got, a bit for each, and finds those that were
// given twice, within a client and between clients.
package expand

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
)

const (
	blockBits = 12 // IDs in a block, as a power of 2: with the default layout those of a worker ID and tick
	words     = 1 << blockBits / 64
	// entryBytes is a block in a file: its number and its bits, each word with the lowest byte
	// first.
	entryBytes = 8 * (1 + words)
)

// block has a bit for each ID.
type block [words]uint64

// Set is what one goroutine got. Make it with NewSet.
type Set struct {
	blocks     map[uint64]*block
	spare      []block // is cut up into blocks: one allocation for many
	number     uint64  // of the block used last
	last       *block
	count      int64
	duplicates int64
}

// NewSet is an empty set.
func NewSet() *Set { return &Set{blocks: make(map[uint64]*block)} }

// Count is how many IDs were added, Duplicates how many of them were there already.
func (s *Set) Count() int64      { return s.count }
func (s *Set) Duplicates() int64 { return s.duplicates }

// AddRun adds each ID of a run: n of them, from first on, with that step between neighbours. It is
// an error if one is below 0.
func (s *Set) AddRun(first, step, n int64) error {
	if first < 0 || step < 1 || n < 0 || n > 0 && step > (1<<63-1-first)/n {
		return fmt.Errorf("a run of %d IDs from %d on in steps of %d: there is none", n, first, step)
	}
	for id := uint64(first); n > 0; n-- {
		b := s.last
		if number := id >> blockBits; number != s.number || b == nil {
			b = s.block(number)
		}
		word, bit := &b[id%(1<<blockBits)/64], uint64(1)<<(id%64)
		if *word&bit != 0 {
			s.duplicates++
		}
		*word |= bit
		s.count++
		id += uint64(step)
	}
	return nil
}

// block finds or makes a block.
func (s *Set) block(number uint64) *block {
	b := s.blocks[number]
	if b == nil {
		if len(s.spare) == 0 {
			s.spare = make([]block, 256)
		}
		b, s.spare = &s.spare[0], s.spare[1:]
		s.blocks[number] = b
	}
	s.number, s.last = number, b
	return b
}

// WriteTo writes the set for ReadFrom.
func (s *Set) WriteTo(to io.Writer) (written int64, err error) {
	out := bufio.NewWriterSize(to, 1<<20)
	entry := make([]byte, 0, entryBytes)
	for _, number := range slices.Sorted(maps.Keys(s.blocks)) {
		entry = binary.LittleEndian.AppendUint64(entry[:0], number)
		for _, word := range s.blocks[number] {
			entry = binary.LittleEndian.AppendUint64(entry, word)
		}
		n, err := out.Write(entry)
		if written += int64(n); err != nil {
			return written, err
		}
	}
	return written, out.Flush()
}

// ReadFrom adds what WriteTo wrote, of another set perhaps: whatever is in both counts as a
// duplicate.
func (s *Set) ReadFrom(from io.Reader) (read int64, err error) {
	in := bufio.NewReaderSize(from, 1<<20)
	entry := make([]byte, entryBytes)
	for last := int64(-1); ; {
		n, err := io.ReadFull(in, entry)
		read += int64(n)
		if err == io.EOF {
			return read, nil
		}
		if err != nil {
			return read, fmt.Errorf("after %d bytes: %w", read, err)
		}
		number := binary.LittleEndian.Uint64(entry)
		if number > (1<<63-1)>>blockBits || int64(number) <= last {
			return read, errors.New("blocks that do not rise, or that no ID is in")
		}
		last = int64(number)
		b := s.block(number)
		for i := range b {
			word := binary.LittleEndian.Uint64(entry[8*(1+i):])
			s.count += int64(bits.OnesCount64(word))
			s.duplicates += int64(bits.OnesCount64(word & b[i]))
			b[i] |= word
		}
	}
}
