package dir

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/coord/claims"
)

// A file is one line, and the value:
//
//	flakeward-file-1 <count> <CRC32C> <length>
//
// The sum is of count, length and value. The count is how often the file was written. What follows
// the value is the rest of a spare file and means nothing.
const format = "flakeward-file-1"

// maxFile is the largest file, in bytes. The largest that is written is a history, of a few
// kilobytes.
const maxFile = 1 << 20

// maxCount is the highest count. A file that has it keeps it.
const maxCount = math.MaxInt32 - 1

// errDamaged means that a file is not as it was written.
var errDamaged = errors.New("damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(count uint64, value []byte) uint32 {
	counted := fmt.Appendf(nil, "%d %d\n", count, len(value))
	return crc32.Update(crc32.Checksum(counted, castagnoli), castagnoli, value)
}

// encode returns a file.
func encode(count uint64, value []byte) []byte {
	return append(fmt.Appendf(nil, "%s %d %08x %d\n", format, count, sum(count, value), len(value)), value...)
}

// version is that of a file: a later one is higher, and files that differ have different ones, also
// where a restore brought their counts back.
func version(count uint64, sum uint32) int64 { return int64(count<<32 | uint64(sum)) }

// count is the one that a version has. 0: there is no file.
func count(version int64) uint64 { return uint64(version) >> 32 }

// decode returns the value of a file with its version. That of a damaged one is higher than any
// other, and its value is nothing that anybody stores.
func decode(file []byte) (claims.Entry, error) {
	value, n, s, err := parse(file)
	if err != nil {
		crc := crc32.Checksum(file, castagnoli)
		return claims.Entry{Value: []byte(err.Error()), Version: version(math.MaxInt32, crc)}, err
	}
	return claims.Entry{Value: value, Version: version(n, s)}, nil
}

func parse(file []byte) (value []byte, n uint64, s uint32, err error) {
	line, rest, ok := bytes.Cut(file, []byte("\n"))
	fields := strings.Split(string(line), " ")
	if !ok || len(fields) != 4 || fields[0] != format {
		return nil, 0, 0, fmt.Errorf("%w: it does not begin with a line of %s", errDamaged, format)
	}
	n, counting := strconv.ParseUint(fields[1], 10, 31)
	length, measuring := strconv.ParseUint(fields[3], 10, 31)
	if err := errors.Join(counting, measuring); err != nil || n < 1 || n > maxCount {
		return nil, 0, 0, fmt.Errorf("%w: its first line is %q", errDamaged, line)
	}
	if uint64(len(rest)) < length {
		return nil, 0, 0, fmt.Errorf("%w: it has %d bytes of %d", errDamaged, len(rest), length)
	}
	value = rest[:length]
	if !bytes.HasPrefix(file, encode(n, value)) {
		return nil, 0, 0, fmt.Errorf("%w: its checksum is another", errDamaged)
	}
	return value, n, sum(n, value), nil
}

// read returns what an open file holds.
func read(f *os.File) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return b, err
}
