package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"unicode/utf8"
)

// The file has two slots. Each begins with a line for its reader and for the check,
//
//	flakeward journal 3 crc32c 0d9a1b02 number 7 bytes 512
//
// that names the format's version, the checksum of all that follows it in the slot, how many
// writes the journal has had with this one, and the length in bytes of what comes after the line:
// Contents as indented JSON with a newline at the end. Writes with an odd number are in the second
// slot. The rest of a slot is zeros, or what is left of a longer text before.
const (
	version    = 3
	headerForm = "flakeward journal %d crc32c %08x "
	summedForm = "number %d bytes %d\n"

	// slotSize is the size of a slot, in bytes. A text of 64 worker IDs that were left takes 10 kB.
	// A slot begins on a block of its own on every file system, so that a write which is torn, or
	// which the disk refuses, concerns one slot alone.
	slotSize = 1 << 15
	fileSize = 2 * slotSize
)

// slotOf is where the write with that number begins.
func slotOf(number uint64) int64 { return int64(number%2) * slotSize }

// The checksum of RFC 3720, appendix B.4.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the bytes of the write with that number, or what is wrong with c.
func encode(c Contents, number uint64) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Entries == nil {
		c.Entries = []Entry{} // one spelling for none
	}
	body, err := json.MarshalIndent(c, "", "  ")
	if err != nil { // only strings and integers are encoded
		panic(err)
	}
	data := frame(append(body, '\n'), number)
	if len(data) > slotSize {
		return nil, fmt.Errorf("%d entries take %d bytes, more than the %d that a slot of the journal has", len(c.Entries), len(data), slotSize)
	}
	return data, nil
}

// frame puts the first line before a body.
func frame(body []byte, number uint64) []byte {
	line := fmt.Appendf(make([]byte, 0, 64), summedForm, number, len(body))
	sum := crc32.Update(crc32.Checksum(line, castagnoli), castagnoli, body)
	data := fmt.Appendf(make([]byte, 0, 128+len(body)), headerForm, version, sum)
	return append(append(data, line...), body...)
}

// found is what a file says.
type found struct {
	contents Contents
	number   uint64 // of the write; 0: there is none
	reason   string // why there is none; empty where nothing was ever written
	version  int    // of the format that another version has written; 0: none has
}

// decode returns the newest write that a file holds whole. One that is whole and says what this
// daemon would not have written was written by another version: what came before it counts no more.
func decode(data []byte) found {
	var newest []byte
	var newestNumber uint64
	var torn string
	for i := range uint64(2) {
		at := slotOf(i)
		if int64(len(data)) <= at {
			continue
		}
		body, number, other, reason := bodyOf(data[at:min(int64(len(data)), at+slotSize)])
		switch {
		case other != 0:
			return found{reason: reason, version: other}
		case reason != "":
			torn = reason
		case number != 0 && slotOf(number) != at:
			torn = fmt.Sprintf("write %d is in the other write's place", number)
		case number > newestNumber:
			newest, newestNumber = body, number
		}
	}
	if newestNumber == 0 {
		return found{reason: torn}
	}
	c, reason := contentsOf(newest, newestNumber)
	if reason != "" {
		return found{reason: reason}
	}
	return found{contents: c, number: newestNumber}
}

// bodyOf returns what follows the first line of a slot, and the number of its write; 0 where
// nothing was ever written. other is the format's version if that is another one. No torn write looks
// like that: the version stays the same.
func bodyOf(slot []byte) (body []byte, number uint64, other int, reason string) {
	bad := func(format string, args ...any) ([]byte, uint64, int, string) {
		return nil, 0, 0, fmt.Sprintf(format, args...)
	}
	if len(bytes.TrimLeft(slot, "\x00")) == 0 {
		return nil, 0, 0, ""
	}
	line, rest, cut := bytes.Cut(slot, []byte("\n"))
	if !cut {
		return bad("its first line is cut off")
	}
	var (
		v, length int
		sum       uint32
	)
	if n, _ := fmt.Sscanf(string(line)+"\n", headerForm+summedForm, &v, &sum, &number, &length); n >= 1 && v != version {
		return nil, 0, v, fmt.Sprintf("its format is version %d, and this daemon knows version %d", v, version)
	} else if n < 4 || number == 0 || length < 0 {
		return bad("its first line is not a journal's")
	}
	if len(rest) < length {
		return bad("%d bytes follow its first line, which promises %d", len(rest), length)
	}
	if !bytes.Equal(slot[:len(line)+1+length], frame(rest[:length], number)) {
		return bad("its checksum does not match")
	}
	return rest[:length], number, 0, ""
}

// contentsOf returns what the body of a write says. It accepts exactly what encode makes.
func contentsOf(body []byte, number uint64) (c Contents, reason string) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Contents{}, err.Error()
	}
	// Whatever this daemon would have written otherwise, such as a key given
	// twice, was not written by it.
	again, err := encode(c, number)
	if err != nil {
		return Contents{}, err.Error()
	}
	if !bytes.Equal(again, frame(body, number)) {
		return Contents{}, "it says more than this daemon would have written"
	}
	return c, ""
}

// check returns what makes c impossible.
func (c Contents) check() error {
	valid := func(s string) error {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%q is no valid text", s)
		}
		return nil
	}
	for _, s := range [...]string{c.Cluster, c.Coord, c.Layout, c.Place.Boot, c.Place.Machine, c.Place.VM,
		c.Place.Dir.Handle, c.Place.Lock.Handle, c.Place.Journal.Handle} {
		if err := valid(s); err != nil {
			return err
		}
	}
	for _, e := range c.Entries {
		if err := cmp.Or(valid(e.Opening), valid(e.Claim)); err != nil {
			return err
		}
	}
	for i, e := range c.Entries {
		if err := e.check(); err != nil {
			return fmt.Errorf("worker ID %d: %w", e.Worker, err)
		}
		if slices.ContainsFunc(c.Entries[:i], func(before Entry) bool { return before.Worker == e.Worker }) {
			return fmt.Errorf("worker ID %d has two entries", e.Worker)
		}
	}
	return nil
}

func (e Entry) check() error {
	switch {
	case e.Worker < 0:
		return errors.New("a worker ID is at least 0")
	case e.Opening == "":
		return errors.New("it came from no opening")
	case e.Floor < 0:
		return fmt.Errorf("its floor %d is below 0", e.Floor)
	case e.Mark < 0:
		return fmt.Errorf("its mark %d is below 0", e.Mark)
	}
	return nil
}
