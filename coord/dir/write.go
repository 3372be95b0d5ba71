package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/internal/fault"
)

// newName is the file that is being written. Only the lock's holder has one: what is there is of a
// process that died with the lock.
const newName = "new"

// errUnsynced means that a file is in its place and the disk may not have it. To read it again
// shows nothing: the memory of the kernel is not the disk.
var errUnsynced = errors.New("the directory could not be synced, so the disk may not have what was written last")

func syncFile(f *os.File) error { return f.Sync() }

// failed is the function of that name for a file of the directory.
func (d *directory) failed(name string, err error) error {
	return failed(filepath.Join(d.path, name), err)
}

// readFile returns what a file holds.
func (d *directory) readFile(name string) ([]byte, error) {
	f, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, d.failed(name, err)
	}
	defer f.Close() // it was only read
	b, err := read(f)
	if err != nil {
		return nil, d.failed(name, err)
	}
	return b, nil
}

// entry returns what a file stores. One that is damaged has a value that nobody can decode; what
// becomes of that is up to those who know what it is.
func (d *directory) entry(name string) (claims.Entry, error) {
	b, err := d.readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return claims.Entry{}, nil
	}
	if err != nil {
		return claims.Entry{}, err
	}
	e, _ := decode(b)
	return e, nil
}

// put stores a value in the place of one, durably.
func (s *store) put(d *directory, name string, was claims.Entry, value []byte) (claims.Entry, error) {
	file := encode(min(count(was.Version)+1, maxCount), value)
	err := d.replace(name, file)
	if full(err) && was.Version != 0 && !errors.Is(err, errUnsynced) {
		// The spare has its blocks already, and an exchange takes none.
		if exchanged := d.exchange(s.spare(), name, file); !errors.Is(exchanged, fs.ErrNotExist) {
			err = exchanged
		}
		d.reserve(s.spare())
	}
	if err != nil {
		return claims.Entry{}, err
	}
	if worker, record := strings.CutPrefix(name, claims.RecordsKey+"/"); record {
		fault.Synced(worker, value)
	}
	return decode(file)
}

// replace writes a file anew, and syncs it and its directory.
func (d *directory) replace(name string, file []byte) error {
	f, err := d.create(newName, file)
	if err != nil {
		return err
	}
	if err = d.sync(f); err != nil {
		_ = f.Close()
		_ = d.root.Remove(newName)
		return d.failed(name, fmt.Errorf("the file could not be synced: %w", err))
	}
	if err = f.Close(); err == nil {
		err = moved(d.root.Rename(newName, name))
	}
	if err != nil {
		_ = d.root.Remove(newName)
		return d.failed(name, err)
	}
	return d.settle(name)
}

// moved is the error of a rename. What a disk that fails has done nobody knows.
func moved(err error) error {
	if errors.Is(err, unix.EIO) {
		return fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return err
}

// create makes a file anew and writes it.
func (d *directory) create(name string, file []byte) (*os.File, error) {
	if err := d.remove(name); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, d.failed(name, err)
	}
	if d.shared {
		err = f.Chmod(0o660)
	}
	if err == nil && os.Geteuid() == 0 {
		err = f.Chown(ownerOf(d.info), -1) // root's commands leave nothing that the daemon cannot read
	}
	if err == nil {
		_, err = f.Write(file)
	}
	if err != nil {
		_ = f.Close()
		_ = d.root.Remove(name)
		return nil, d.failed(name, err)
	}
	return f, nil
}

// settle syncs the directory of a file that was put in its place. Only then it counts.
func (d *directory) settle(name string) error {
	f, err := d.root.Open(filepath.Dir(name))
	if err == nil {
		err = errors.Join(d.sync(f), f.Close())
	}
	if err != nil {
		return d.failed(name, fmt.Errorf("%w: %w", errUnsynced, err))
	}
	return nil
}

// remove removes a file, if it is there.
func (d *directory) remove(name string) error {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.failed(name, err)
	}
	return nil
}

func (d *directory) mkdir(name string) error {
	err := d.root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && d.shared {
		err = d.root.Chmod(name, 0o770|os.ModeSetgid)
	}
	if err == nil && os.Geteuid() == 0 {
		err = d.root.Chown(name, ownerOf(d.info), -1)
	}
	if err != nil {
		return d.failed(name, err)
	}
	return nil
}

// spareBytes is the size of a spare file: a record or a history fits.
const spareBytes = 8 << 10

// spare is the name of this process's spare file.
func (s *store) spare() string { return spareOf(s.config.Identity.Incarnation) }

func spareOf(incarnation string) string { return "spare-" + incarnation }

// reserve makes a spare file as large as it should be. There may be no room for it.
func (d *directory) reserve(spare string) {
	if info, err := d.root.Stat(spare); err == nil && info.Size() >= spareBytes {
		return
	}
	f, err := d.create(newName, make([]byte, spareBytes))
	if err != nil {
		return
	}
	if err := errors.Join(d.sync(f), f.Close()); err != nil {
		_ = d.root.Remove(newName)
		return
	}
	_ = d.root.Rename(newName, spare) // a later request tries again
}

// exchange puts a spare file in the place of a file, which becomes the spare. What the spare has
// behind the new content stays, with its blocks.
func (d *directory) exchange(spare, name string, file []byte) error {
	f, err := d.root.OpenFile(spare, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return d.failed(spare, err)
	}
	_, err = f.WriteAt(file, 0)
	if err == nil {
		err = d.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		if !full(err) { // it is as large as it was
			_ = d.root.Remove(spare)
		}
		return d.failed(name, err)
	}
	if err := moved(exchange(d.self, spare, name)); err != nil {
		return d.failed(name, err)
	}
	return errors.Join(d.settle(name), d.settle(spare))
}
