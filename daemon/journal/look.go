package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/filesystem"
)

// Look reads the journal in the state directory at path, and changes nothing there: another
// process may hold it meanwhile. It returns nil for one that says nothing, or is not to be trusted, as
// a start would. The error is what a start would be refused for; a directory that is missing is
// none if it can be made.
func Look(path string) (*Contents, error) { return look(path, filesystem.Of) }

func look(path string, fileSystem func(dir *os.File) (filesystem.Type, error)) (*Contents, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("state directory %s: %w", path, err)
	}
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, makeable(filepath.Dir(path), path, fileSystem)
	}
	if err != nil {
		return nil, unopened("open", err)
	}
	d := &Dir{path: path, root: root}
	defer d.Close() // it was only read
	if d.self, err = root.Open("."); err != nil {
		return nil, unopened("open", err)
	}
	if err := d.fits(fileSystem, false); err != nil {
		return nil, err
	}
	if err := writable(path); err != nil {
		return nil, err
	}
	d.File = &File{path: filepath.Join(path, journalName), disk: &realDisk{dir: d}}
	if err := d.earlier(); err != nil {
		return nil, err
	}
	c, err := d.Read()
	switch torn := (*TornError)(nil); {
	case err == nil:
		return &c, nil
	case errors.Is(err, ErrNone), errors.As(err, &torn):
		return nil, nil
	}
	return nil, err
}

// makeable returns an error unless the directory at path could be made in dir, which may be missing
// as well.
func makeable(dir, path string, fileSystem func(dir *os.File) (filesystem.Type, error)) error {
	above, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return makeable(filepath.Dir(dir), path, fileSystem)
	}
	if errors.Is(err, fs.ErrPermission) {
		return writable(dir) // one need not read what one may write to
	}
	if err != nil {
		return unopened("make", err)
	}
	defer above.Close() // it was only looked at
	if err := local(above, path, fileSystem, false); err != nil {
		return err
	}
	return writable(dir)
}

func writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return unopened("write to", &fs.PathError{Op: "access", Path: dir, Err: err})
	}
	return nil
}

// unopened is why the directory could not be made or opened.
func unopened(doing string, err error) error {
	err = fmt.Errorf("cannot %s the state directory: %w", doing, err)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: run it as the user to whom that belongs, or name another directory with --state-dir", err)
	}
	return fmt.Errorf("%w: name another with --state-dir", err)
}
