package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/filesystem"
)

// Check returns what Join would be refused for on this host. It writes nothing.
func Check(config Config) error {
	config.Log = hclog.NewNullLogger()
	s := &store{config: config}
	d, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return config.makeable()
	}
	if err != nil {
		return err
	}
	defer d.close() // it was only looked at
	return writable(config.Path, config.Path)
}

// makeable returns an error unless the directory could be made.
func (c Config) makeable() error {
	above, err := os.Open(filepath.Dir(c.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return missing(c.Path, err)
	}
	if err != nil {
		return failed(c.Path, err)
	}
	defer above.Close() // it was only looked at
	kind, err := filesystem.Of(above)
	if err != nil {
		return failed(c.Path, err)
	}
	if err := c.lasts(kind); err != nil {
		return err
	}
	return writable(filepath.Dir(c.Path), c.Path)
}

func writable(dir, path string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return failed(path, err)
	}
	return nil
}
