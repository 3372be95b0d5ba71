package journal

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Changed returns the last modification of the directory or of its nearest existing parent, as of
// before OpenDir. If another directory was removed from this place, that was no later. Zero: not
// known.
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
	var last time.Time
	for _, p := range []string{path, filepath.Join(path, lostName)} {
		if info, err := os.Stat(p); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		if err == nil || above == filepath.Dir(above) {
			return last
		}
	}
}
