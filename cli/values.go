package cli

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// duration is the value of a flag for a time span.
type duration time.Duration

// Set reads what time.ParseDuration does.
func (d *duration) Set(text string) error {
	span, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not %s", text, d.wanted())
	}
	*d = duration(span)
	return nil
}

func (d *duration) String() string { return time.Duration(*d).String() }

func (*duration) wanted() string {
	return "a duration: write a number with a unit, such as 3s or 500ms"
}

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
