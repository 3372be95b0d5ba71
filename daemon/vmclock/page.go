package vmclock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Page is VMClock's page, mapped read-only. Its methods may be called from any goroutine, until
// Close.
type Page struct {
	bytes   []byte
	counter *atomic.Uint64
}

// Open maps the page of the device at path. A plain file of at least 112 bytes does as well; it
// must not be cut shorter while it is mapped, for reading behind a file's end ends the process. The
// error is ErrNone, wrapped, if there is nothing at path; any other error means that what is there
// cannot be used, and says why.
func Open(path string) (*Page, error) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		// With 32 bits a 64-bit atomic load is a compare-and-swap, which may not be done on memory
		// that is mapped read-only.
		return nil, fmt.Errorf("%w on %s", ErrNone, runtime.GOARCH)
	}
	// Opening a pipe must not wait for its other end.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w at %s", ErrNone, path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s: %w: let this process's user read it, for the device with the udev rule KERNEL==\"vmclock0\", MODE=\"0644\"", path, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd) // the mapping stays
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Size < minSize {
		return nil, fmt.Errorf("%s: it has %d bytes, VMClock's page has at least %d", path, stat.Size, minSize)
	}
	// The device maps one whole page, and nothing else.
	bytes, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be mapped: %w", path, err)
	}
	if err := parseHeader(bytes); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), unix.Munmap(bytes))
	}
	return &Page{bytes: bytes, counter: (*atomic.Uint64)(unsafe.Pointer(&bytes[atGeneration]))}, nil
}

// Counter returns where the generation is. Loading it costs no more than any other atomic load. It
// is for comparing alone, must not be stored to, and is gone with Close.
func (p *Page) Counter() *atomic.Uint64 { return p.counter }

// Generation returns the generation, or false if the hypervisor does not show it any more: after a
// migration to one that does not know it.
func (p *Page) Generation() (generation uint64, ok bool) {
	return p.counter.Load(), parseHeader(p.bytes) == nil
}

// Close unmaps the page. Nobody may load the counter from then on.
func (p *Page) Close() error { return unix.Munmap(p.bytes) }
