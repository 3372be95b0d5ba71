package history

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Directory returns every version of each record that a directory has synced, in the order of the
// writes. The file is what daemons of a drill build have noted (fault.Records): a line has a
// record's name, a space, and its JSON. Where there is none, nothing was synced.
func Directory(path string) ([]Version, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	versions, err := noted(b)
	if err != nil {
		return nil, fmt.Errorf("history: %s: %w", path, err)
	}
	return versions, nil
}

func noted(b []byte) (versions []Version, err error) {
	for line := range bytes.Lines(b) {
		order := int64(len(versions) + 1)
		name, record, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		if !ok || !bytes.HasSuffix(line, []byte("\n")) {
			return nil, fmt.Errorf("line %d is not whole: %q", order, line)
		}
		worker, err := workerOf(string(name))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", order, err)
		}
		v, err := version(order, worker, record)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", order, err)
		}
		versions = append(versions, v)
	}
	return versions, nil
}
