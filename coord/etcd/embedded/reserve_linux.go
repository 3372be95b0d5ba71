package embedded

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// reserve sets disk space aside for all that the database may grow to, without
// making it longer: etcd ends for good when a write of its fails, so a disk that
// others have filled must not be what fails it. Its log sets its own space aside.
func reserve(dir string, size int64) error {
	f, err := os.OpenFile(filepath.Join(dir, "member", "snap", "db"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size), f.Close())
}
