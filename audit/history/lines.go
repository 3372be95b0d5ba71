package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Write writes the versions as JSON, one in a line.
func Write(w io.Writer, versions []Version) error {
	buffered := bufio.NewWriter(w)
	lines := json.NewEncoder(buffered)
	for _, v := range versions {
		if err := v.check(); err != nil {
			return fmt.Errorf("history: cannot write %+v: %w", v, err)
		}
		if err := lines.Encode(v); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// Read reads what Write wrote. Anything else, and a file that is cut off within a
// line, is an error that names the line.
func Read(r io.Reader) ([]Version, error) {
	var versions []Version
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return versions, nil
		case errors.Is(err, io.EOF):
			err = errors.New("it is cut off")
		}
		var v Version
		if err == nil {
			v, err = parseLine(line)
		}
		if err == nil && len(versions) > 0 && v.Order < versions[len(versions)-1].Order {
			err = fmt.Errorf("its order %d is below the one before", v.Order)
		}
		if err != nil {
			return nil, fmt.Errorf("history: line %d: %w", number, err)
		}
		versions = append(versions, v)
	}
}

func parseLine(line []byte) (Version, error) {
	var v Version
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return Version{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Version{}, errors.New("something follows the JSON")
	}
	return v, v.check()
}
