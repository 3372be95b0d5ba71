package budget

import (
	"math/bits"
	"sync"
)

// Buffers that connections have given back serve the next ones. Otherwise clients who have large
// buffers made and given up all the time would have the process use far more than what is kept: the
// garbage that comes up while garbage is collected stays until the next collection, and on a busy
// machine that takes long. What nobody needs again goes with the second collection.
var spares [spareSizes]sync.Pool // of *[]byte, each of twice the size of the one before

const (
	smallestSpare = 8 << 10 // smaller buffers amount to little
	spareSizes    = 10
)

// sizeOf is the number of the smallest size that has room for n bytes, beyond spareSizes too.
func sizeOf(n int) int { return bits.Len(uint(max(n, 1)-1) / smallestSpare) }

// Append is append(buf, data...), but buf is given back where it is too small, so that it must not
// be used any more.
func Append(buf, data []byte) []byte {
	if n := len(buf) + len(data); n > cap(buf) && n > smallestSpare/2 {
		larger := append(buffer(n), buf...)
		GiveBack(buf)
		buf = larger
	}
	return append(buf, data...)
}

// GiveBack says that a buffer which Append has made is not used any more.
func GiveBack(buf []byte) {
	size := sizeOf(cap(buf))
	if size < spareSizes && cap(buf) == smallestSpare<<size {
		buf = buf[:0]
		spares[size].Put(&buf)
	}
}

// buffer has room for n bytes.
func buffer(n int) []byte {
	size := sizeOf(n)
	if size >= spareSizes {
		return make([]byte, 0, n)
	}
	if spare, ok := spares[size].Get().(*[]byte); ok {
		return *spare
	}
	return make([]byte, 0, smallestSpare<<size)
}
