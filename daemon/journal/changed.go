package journal

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Changed returns the last modification of the directory or of its nearest existing parent, as of
// before OpenDir. If another directory was removed from this place, that was no later. Zero: not
// known, or both are as they were made.
func (d *Dir) Changed() time.Time { return d.changed }

// lostName is the file that keeps the time of a change, as its own.
const lostName = "lost"

// KeepChange keeps the time of that change for the next start, which may follow one that wrote no
// journal, until ForgetChange.
func (d *Dir) KeepChange() error {
	f, err := d.root.OpenFile(lostName, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(d.root.Chtimes(lostName, time.Time{}, d.changed), f.Sync(), f.Close())
	return errors.Join(err, d.self.Sync())
}

// ForgetChange forgets what KeepChange keeps.
func (d *Dir) ForgetChange() error { return d.root.Remove(lostName) }

func lastChange(path string) time.Time {
	last, _ := changeOf(path)
	if kept, there := changeOf(filepath.Join(path, lostName)); there && kept.After(last) {
		last = kept
	}
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		change, there := changeOf(above)
		if there && change.After(last) {
			last = change
		}
		if there || above == filepath.Dir(above) {
			return last
		}
	}
}

// changeOf is the last modification of a file that is there; zero if there was none since it was
// made.
func changeOf(path string) (change time.Time, there bool) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, false
	}
	if info.ModTime().Equal(born(path)) {
		return time.Time{}, true
	}
	return info.ModTime(), true
}
