package budget

import "math/bits"

// Buffers that connections have given back serve the next ones. Otherwise clients who have large
// buffers made and given up all the time would have the process use far more than what is kept: the
// garbage that comes up while garbage is collected stays until the next collection, and on a busy
// machine that takes long.
//
// Buffers are kept only where much is kept for clients anyway, so that garbage could go over the
// limit, and no more than a quarter of that.
const (
	smallestSpare = 8 << 10 // smaller buffers amount to little
	spareSizes    = 10      // each twice as large as the one before
	sparePart     = 4
)

// spares are the buffers that are in nobody's use.
type spares struct {
	free  [spareSizes][][]byte // by size
	bytes int64
}

// sizeOf is the number of the smallest size that has room for n bytes, beyond spareSizes too.
func sizeOf(n int) int { return bits.Len(uint(max(n, 1)-1) / smallestSpare) }

// Append is append(buf, data...), but buf is given back where it is too small, so that it must not
// be used any more.
func (b *Budget) Append(buf, data []byte) []byte {
	if n := len(buf) + len(data); n > cap(buf) && n > smallestSpare/2 {
		larger := append(b.buffer(n), buf...)
		b.GiveBack(buf)
		buf = larger
	}
	return append(buf, data...)
}

// GiveBack says that a buffer which Append has made is not used any more.
func (b *Budget) GiveBack(buf []byte) {
	n := cap(buf)
	size := sizeOf(n)
	if n != smallestSpare<<size || size >= spareSizes {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used >= b.limit/sparePart && b.spares.bytes+int64(n) <= b.limit/sparePart {
		b.spares.free[size] = append(b.spares.free[size], buf[:0])
		b.spares.bytes += int64(n)
	}
}

// buffer has room for n bytes. One of twice the size will do: it is there already.
func (b *Budget) buffer(n int) []byte {
	size := sizeOf(n)
	if size >= spareSizes {
		return make([]byte, 0, n)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := size; at < min(size+2, spareSizes); at++ {
		if free := b.spares.free[at]; len(free) > 0 {
			last := len(free) - 1
			buf := free[last]
			free[last] = nil
			b.spares.free[at] = free[:last]
			b.spares.bytes -= int64(cap(buf))
			return buf
		}
	}
	return make([]byte, 0, smallestSpare<<size)
}
