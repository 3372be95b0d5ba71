package dir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/coord/claims"
)

const clusterName = "cluster"

// The value of the file cluster is a line with the inode of the directory, and the cluster record.
const inodeWord = "inode "

func encodeCluster(inode uint64, record []byte) []byte {
	return append(fmt.Appendf(nil, "%s%d\n", inodeWord, inode), record...)
}

func decodeCluster(file []byte) (record claims.Entry, inode uint64, err error) {
	e, err := decode(file)
	if err != nil {
		return claims.Entry{}, 0, err
	}
	line, value, ok := bytes.Cut(e.Value, []byte("\n"))
	digits, named := strings.CutPrefix(string(line), inodeWord)
	inode, err = strconv.ParseUint(digits, 10, 64)
	if err != nil || !ok || !named || strconv.FormatUint(inode, 10) != digits {
		return claims.Entry{}, 0, fmt.Errorf("%w: it does not begin with an inode", errDamaged)
	}
	return claims.Entry{Value: value, Version: e.Version}, inode, nil
}

// cluster reads the cluster record; its Version is 0 if there is none.
func (s *store) cluster(d *directory) (claims.Entry, error) {
	b, err := d.readFile(clusterName)
	if errors.Is(err, fs.ErrNotExist) {
		return claims.Entry{}, nil
	}
	if err != nil {
		return claims.Entry{}, err
	}
	path := filepath.Join(d.path, clusterName)
	record, inode, err := decodeCluster(b)
	if err != nil {
		return claims.Entry{}, &Error{CodeDamaged, path, "the cluster record cannot be read", "restore the directory from a backup and run `flakeward cluster adopt`, or name another with --coord dir:PATH", err}
	}
	if inode != d.inode() && !s.config.Adopt {
		return claims.Entry{}, &elsewhereError{&Error{CodeCopied, d.path,
			fmt.Sprintf("it is a copy, or was restored: its cluster was made in the directory with inode %d, and this one has %d", inode, d.inode()),
			"where no daemon uses the original any more, run `flakeward cluster adopt`; else name another directory with --coord dir:PATH", nil}, record}
	}
	return record, nil
}

// fence returns *claims.MovedError unless the cluster record is that one.
func (s *store) fence(d *directory, layout claims.Entry) error {
	found, err := s.cluster(d)
	if err == nil && (found.Version == 0 || !bytes.Equal(found.Value, layout.Value)) {
		err = &claims.MovedError{Found: found}
	}
	return err
}

// Look implements claims.Store.
func (s *store) Look(ctx context.Context) (claims.Entry, error) {
	found, err := ask(ctx, s, "look for the cluster", s.cluster)
	if elsewhere := (*elsewhereError)(nil); errors.As(err, &elsewhere) && elsewhere.why.Code == CodeReplaced {
		return elsewhere.found, nil
	}
	if errors.Is(err, fs.ErrNotExist) { // there is no directory
		return claims.Entry{}, nil
	}
	return found, err
}

// LookAnew implements claims.Store. Whoever looks, has no past.
func (s *store) LookAnew(ctx context.Context) (claims.Entry, error) { return s.Look(ctx) }

// Make implements claims.Store. The cluster record comes last: whoever finds it finds the rest.
func (s *store) Make(ctx context.Context, layout []byte) (claims.Entry, error) {
	if err := s.make(); err != nil {
		return claims.Entry{}, err
	}
	return ask(ctx, s, "make the cluster", func(d *directory) (claims.Entry, error) {
		found, err := s.cluster(d)
		if err != nil || found.Version != 0 {
			return found, err
		}
		for _, name := range []string{claims.ClaimsKey, claims.RecordsKey, claims.HistoryKey, claims.HostsKey} {
			if err := d.mkdir(name); err != nil {
				return claims.Entry{}, err
			}
		}
		if err := d.settle(clusterName); err != nil {
			return claims.Entry{}, err
		}
		return s.putCluster(d, found, layout)
	})
}

func missing(path string, err error) error {
	return &Error{CodeMissing, path, "the directory that it would lie in is not there", "make that, or mount its disk, or name another with --coord dir:PATH", err}
}

// make makes the directory. What it lies in has to be there: on a disk that is not mounted, nothing
// is made.
func (s *store) make() error {
	path := s.config.Path
	err := os.Mkdir(path, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return missing(path, err)
	case err != nil:
		return failed(path, err)
	}
	above, err := os.Open(filepath.Dir(path))
	if err != nil {
		return failed(path, err)
	}
	defer above.Close() // it was only read
	if err := s.sync(above); err != nil {
		return failed(path, err)
	}
	return nil
}

// Replace implements claims.Store.
func (s *store) Replace(ctx context.Context, layout claims.Entry, value []byte) (claims.Entry, error) {
	return fenced(ctx, s, "replace the cluster record", layout, func(d *directory) (claims.Entry, error) {
		found, err := s.cluster(d)
		if err != nil {
			return claims.Entry{}, err
		}
		return s.putCluster(d, found, value)
	})
}

func (s *store) putCluster(d *directory, found claims.Entry, value []byte) (claims.Entry, error) {
	stored, err := s.put(d, clusterName, found, encodeCluster(d.inode(), value))
	return claims.Entry{Value: value, Version: stored.Version}, err
}
