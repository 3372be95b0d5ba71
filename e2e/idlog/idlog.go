// Package idlog keeps the IDs that a client received: 8 bytes for each, in blocks
// that say in which life of the daemon they came, in the order in which they came.
//
// A block is, in little-endian order: the magic number (4 bytes), the life (4),
// the count of IDs (4), the CRC-32C of the rest (4), and the IDs (8 each). A file
// is nothing but blocks, so reading may begin at any block's start.
package idlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	magic      = 0x44495746 // "FWID" in little-endian order
	headerSize = 16
	idSize     = 8
	// BlockIDs is the most IDs that a block holds.
	BlockIDs = 8192
)

// ErrDamaged is what Read returns for bytes that no Writer wrote: evidence that is cut off or
// altered proves nothing.
var ErrDamaged = errors.New("the log of IDs is damaged")

var table = crc32.MakeTable(crc32.Castagnoli)

// Writer writes blocks. It is for one goroutine.
type Writer struct {
	out  io.Writer
	life uint32
	buf  []byte // room for the header, then IDs
}

// NewWriter returns a writer whose IDs are of life 0 until Begin.
func NewWriter(out io.Writer) *Writer {
	return &Writer{out: out, buf: make([]byte, headerSize, headerSize+BlockIDs*idSize)}
}

// Begin says in which life of the daemon the following IDs are received.
func (w *Writer) Begin(life uint32) error {
	err := w.Flush()
	w.life = life
	return err
}

// Add keeps IDs. They may not be written before Flush.
func (w *Writer) Add(ids ...int64) error {
	for _, id := range ids {
		if len(w.buf) == cap(w.buf) {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(id))
	}
	return nil
}

// Flush writes what was added.
func (w *Writer) Flush() error {
	ids := w.buf[headerSize:]
	if len(ids) == 0 {
		return nil
	}
	binary.LittleEndian.PutUint32(w.buf[0:], magic)
	binary.LittleEndian.PutUint32(w.buf[4:], w.life)
	binary.LittleEndian.PutUint32(w.buf[8:], uint32(len(ids)/idSize))
	binary.LittleEndian.PutUint32(w.buf[12:], crc32.Checksum(ids, table))
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:headerSize]
	if err != nil {
		return fmt.Errorf("cannot keep the IDs: %w", err)
	}
	return nil
}

// Read hands every block to block, in order; ids is only valid during the call. It returns what
// block returns, an error that is ErrDamaged if the bytes are not whole blocks, or nil at the end.
func Read(in io.Reader, block func(life uint32, ids []int64) error) error {
	var header [headerSize]byte
	payload := make([]byte, BlockIDs*idSize)
	ids := make([]int64, BlockIDs)
	for n := 0; ; n++ {
		if _, err := io.ReadFull(in, header[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return damaged(n, err)
		}
		count := binary.LittleEndian.Uint32(header[8:])
		if binary.LittleEndian.Uint32(header[0:]) != magic || count == 0 || count > BlockIDs {
			return fmt.Errorf("%w: block %d does not begin as one", ErrDamaged, n)
		}
		bytes := payload[:count*idSize]
		if _, err := io.ReadFull(in, bytes); err != nil {
			return damaged(n, err)
		}
		if crc32.Checksum(bytes, table) != binary.LittleEndian.Uint32(header[12:]) {
			return fmt.Errorf("%w: the checksum of block %d is wrong", ErrDamaged, n)
		}
		for i := range count {
			ids[i] = int64(binary.LittleEndian.Uint64(bytes[i*idSize:]))
		}
		if err := block(binary.LittleEndian.Uint32(header[4:]), ids[:count]); err != nil {
			return err
		}
	}
}

func damaged(block int, err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: block %d is cut off", ErrDamaged, block)
	}
	return fmt.Errorf("cannot read the log of IDs: %w", err)
}
