package journal

import (
	"os"
	"path/filepath"
	"time"
)

// Changed is when the directory, or the one that it lies in, was changed last before OpenDir: if it
// stands where another was removed, not before that. The zero time: that is not known.
func (d *Dir) Changed() time.Time { return d.changed }

func lastChange(path string) time.Time {
	var last time.Time
	if info, err := os.Stat(path); err == nil {
		last = info.ModTime()
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
