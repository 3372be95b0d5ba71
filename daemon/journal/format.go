package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"unicode/utf8"
)

// The file is a line for its reader and for the check,
//
//	flakeward journal 1 crc32c 0d9a1b02 bytes 312
//
// that names the format's version, the checksum of all that follows and its
// length in bytes, and then Contents as indented JSON with a newline at the end.
const (
	version    = 1
	headerForm = "flakeward journal %d crc32c %08x bytes %d\n"

	maxBytes = 1 << 20 // of the whole file; a lane takes some 250
)

// The checksum of RFC 3720, appendix B.4.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the bytes of the file that says c, or what is wrong with c.
func encode(c Contents) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Lanes == nil {
		c.Lanes = []Entry{} // one spelling for no lanes
	}
	body, err := json.MarshalIndent(c, "", "  ")
	if err != nil { // only strings and integers are encoded
		panic(err)
	}
	body = append(body, '\n')
	data := append(header(body), body...)
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%d lanes take %d bytes, more than the %d that a journal may have", len(c.Lanes), len(data), maxBytes)
	}
	return data, nil
}

func header(body []byte) []byte {
	return fmt.Appendf(nil, headerForm, version, crc32.Checksum(body, castagnoli), len(body))
}

// decode returns what the file's bytes say, or why they are not to be trusted.
// It accepts exactly what encode returns.
func decode(data []byte) (c Contents, reason string) {
	if len(data) > maxBytes {
		return Contents{}, fmt.Sprintf("it is larger than %d bytes", maxBytes)
	}
	line, body, found := bytes.Cut(data, []byte("\n"))
	if !found {
		return Contents{}, "its first line is cut off"
	}
	var (
		v, length int
		sum       uint32
	)
	if n, _ := fmt.Sscanf(string(line)+"\n", headerForm, &v, &sum, &length); n >= 1 && v != version {
		return Contents{}, fmt.Sprintf("its format is version %d, and this daemon knows version %d", v, version)
	} else if n < 3 {
		return Contents{}, "its first line is not a journal's"
	}
	if len(body) != length {
		return Contents{}, fmt.Sprintf("%d bytes follow its first line, which promises %d", len(body), length)
	}
	if !bytes.Equal(data[:len(line)+1], header(body)) {
		return Contents{}, "its checksum does not match"
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Contents{}, err.Error()
	}
	// Whatever this daemon would have written otherwise, such as a key given
	// twice, was not written by it.
	again, err := encode(c)
	if err != nil {
		return Contents{}, err.Error()
	}
	if !bytes.Equal(again, data) {
		return Contents{}, "it says more than this daemon would have written"
	}
	return c, ""
}

// check returns what makes c impossible.
func (c Contents) check() error {
	texts := []string{c.Cluster, c.Coord, c.Layout}
	for _, e := range c.Lanes {
		texts = append(texts, e.Opening, e.Claim)
	}
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%q is no valid text", s)
		}
	}
	seen := make(map[int]bool, len(c.Lanes))
	for _, e := range c.Lanes {
		if err := e.check(); err != nil {
			return fmt.Errorf("lane of worker ID %d: %w", e.Worker, err)
		}
		if seen[e.Worker] {
			return fmt.Errorf("worker ID %d has two lanes", e.Worker)
		}
		seen[e.Worker] = true
	}
	return nil
}

func (e Entry) check() error {
	switch {
	case e.Worker < 0:
		return errors.New("a worker ID is at least 0")
	case e.Opening == "":
		return errors.New("it came from no opening")
	case e.Mark < 0:
		return fmt.Errorf("its mark %d is below 0", e.Mark)
	case e.Ceiling < 0:
		return fmt.Errorf("its ceiling %d is below 0", e.Ceiling)
	}
	return nil
}
