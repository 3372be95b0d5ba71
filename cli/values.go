package cli

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// fileMode is the value of a flag for permission bits, in octal.
type fileMode os.FileMode

// Set reads octal digits, with or without a leading 0 or 0o.
func (m *fileMode) Set(text string) error {
	bits, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	if err != nil || bits > uint64(fs.ModePerm) {
		return fmt.Errorf("%q is not %s", text, m.wanted())
	}
	*m = fileMode(bits)
	return nil
}

// String writes the bits as they are usually written.
func (m *fileMode) String() string { return fmt.Sprintf("%#04o", uint32(*m)) }

func (*fileMode) wanted() string { return "a file mode: write three octal digits, such as 0660" }

// order is the value of a flag for what is kept where the clock goes back: true is the order of
// each connection.
type order bool

// Set reads time or strict.
func (o *order) Set(text string) error {
	switch text {
	case "time", "strict":
		*o = text == "strict"
		return nil
	}
	return fmt.Errorf("%q is not %s", text, o.wanted())
}

// String writes time or strict.
func (o *order) String() string {
	if *o {
		return "strict"
	}
	return "time"
}

func (*order) wanted() string { return "an order: write time or strict" }

// size is the value of a flag for an amount of memory, in bytes.
type size int64

// Set reads a whole number and a unit of bytes.
func (s *size) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("%q is not %s", text, s.wanted())
	}
	*s = size(n)
	return nil
}

func (s *size) String() string {
	if *s == 0 {
		return "0"
	}
	return strings.ReplaceAll(humanize.IBytes(uint64(*s)), " ", "")
}

func (*size) wanted() string {
	return "an amount of memory: write a number with a unit, such as 256MiB"
}

// numbers is the value of a flag for a list of users or groups.
type numbers []uint32

// Set reads decimal numbers with commas between them.
func (l *numbers) Set(text string) error {
	*l = nil
	if strings.TrimSpace(text) == "" {
		return nil
	}
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not %s", text, l.wanted())
		}
		*l = append(*l, uint32(n))
	}
	return nil
}

func (l *numbers) String() string {
	words := make([]string, len(*l))
	for i, n := range *l {
		words[i] = strconv.FormatUint(uint64(n), 10)
	}
	return strings.Join(words, ",")
}

func (*numbers) wanted() string {
	return "a list of numbers: write them with commas between, such as 1000,1001"
}
