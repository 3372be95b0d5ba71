//go:build linux

// Package forgetfs is a file system that forgets what was not flushed. It lies in memory, is
// mounted by FUSE, and can lose its power at any flush: from then on no call returns, and once the
// processes that hung are gone the same file system serves again, with the same device and inode
// numbers and with what a disk would have kept.
//
// A flush of a file makes its contents durable, and its names. It also makes durable that its
// directories were made, as ext4, XFS and btrfs have it. A flush of a directory makes the changes
// of names in it durable. Nothing else is. Of what was written since, each file by itself keeps a
// random choice, of which each write may be torn where sectors meet; of the changes of names,
// either those up to some moment survive, as a journal would have it, or each by itself.
//
// It has what a directory of package dir, etcd and ZooKeeper ask for: no links, no attributes but
// the size, and fdatasync is fsync.
package forgetfs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Options are how the file system forgets.
type Options struct {
	// Sector is the bytes between which a write is never torn; 0: it may be torn anywhere.
	Sector int64
	// Lies returns whether flushes of the file have no effect, although they succeed; nil: never.
	// It is called with the path from the root, without a slash before it, and must not use the
	// file system.
	Lies func(path string) bool
}

// Flush is one fsync.
type Flush struct {
	Number    int    // from 1, since Mount or the last Restore
	Path      string // from the root, empty for the root itself; the last name if it has none any more
	Directory bool
}

// Cut says when the power is cut.
type Cut struct {
	Counts func(Flush) bool // which flushes count; nil: all
	Number int              // at which of them, at least 1
	After  bool             // that flush takes effect, although nobody learns of it
}

// FS is a mounted file system.
type FS struct {
	dir    string
	lies   func(path string) bool
	server *fuse.Server

	mu      sync.Mutex
	disk    *disk
	flushes int
	armed   *Cut
	off     chan Flush    // takes the flush at which the power was cut
	dark    chan struct{} // not nil: the power is off. Closed once calls fail instead of hanging
}

// ErrNoFUSE is what Mount returns where FUSE cannot be had.
var ErrNoFUSE = errors.New("this needs FUSE: /dev/fuse, readable and writable, and the right to mount it (root, or a user namespace)")

// Mount mounts an empty file system on the directory.
func Mount(dir string, o Options) (*FS, error) {
	f := &FS{dir: dir, lies: o.Lies, disk: newDisk(max(o.Sector, 1))}
	server, err := fuse.NewServer(&calls{RawFileSystem: fuse.NewDefaultRawFileSystem(), fs: f}, f.dir, &fuse.MountOptions{
		FsName: "forgetfs", Name: "forgetfs", DirectMountStrict: true, MaxWrite: 1 << 20, DisableXAttrs: true, DisableReadDirPlus: true,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: mounting on %s: %w", ErrNoFUSE, f.dir, err)
	}
	f.server = server
	go server.Serve() // Unmount waits for its end
	return f, server.WaitMount()
}

// Unmount ends the file system, and waits until nothing has a file of it open any more.
func (f *FS) Unmount() error {
	// A process that was killed may keep files open for a moment after it was waited for. The mount
	// is taken away from under it then, and ends with its last file.
	if err := f.server.Unmount(); err != nil {
		if lazily := unix.Unmount(f.dir, unix.MNT_DETACH); lazily != nil {
			return fmt.Errorf("unmounting %s: %w, %w", f.dir, err, lazily)
		}
	}
	f.server.Wait()
	return nil
}

// Arm has the power cut at a flush to come. The channel gets that flush as soon as it is. It
// replaces what was armed before.
func (f *FS) Arm(c Cut) <-chan Flush {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.off = &c, make(chan Flush, 1)
	return f.off
}

// Fill makes the disk full, or not any more: a file that is written beyond its last block meets
// ENOSPC. Restore leaves it as it is.
func (f *FS) Fill(full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disk.full = full
}

// PowerOff cuts the power now, unless it is off.
func (f *FS) PowerOff() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut()
}

// cut cuts the power; f.mu is held.
func (f *FS) cut() {
	f.armed = nil
	if f.dark == nil {
		f.dark = make(chan struct{})
	}
}

// Release has the calls that hang fail. It is called once those who made them have been killed:
// then none of them learns of it.
func (f *FS) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.dark)
}

// Restore has the file system serve again, after Release and once those who used it are gone, with
// what the power cut left. The same chance forgets the same.
func (f *FS) Restore(chance *rand.Rand) {
	f.mu.Lock()
	known := make([]uint64, 0, len(f.disk.nodes))
	for number := range f.disk.nodes {
		known = append(known, number)
	}
	f.disk.forget(chance)
	f.dark, f.flushes = nil, 0
	f.mu.Unlock()
	for _, number := range known {
		// Of a file that the kernel has not cached it says so, and that is as good.
		_ = f.server.InodeNotify(number, 0, 0)
	}
}

// enter begins a call: it returns with f.mu held, or false if the power went off.
func (f *FS) enter() bool {
	f.mu.Lock()
	if f.dark == nil {
		return true
	}
	f.hang()
	return false
}

// hang waits, without f.mu, until calls fail.
func (f *FS) hang() {
	dark := f.dark
	f.mu.Unlock()
	<-dark
}

// flush flushes a file or directory, unless that is when the power is cut.
func (f *FS) flush(number uint64) fuse.Status {
	if !f.enter() {
		return fuse.EIO
	}
	n := f.disk.nodes[number]
	if n == nil {
		f.mu.Unlock()
		return fuse.Status(syscall.ESTALE)
	}
	f.flushes++
	this := Flush{Number: f.flushes, Path: f.disk.path(n), Directory: n.isDirectory()}
	effective := f.lies == nil || !f.lies(this.Path)
	strikes := false
	if c := f.armed; c != nil && (c.Counts == nil || c.Counts(this)) {
		c.Number--
		strikes = c.Number == 0
		effective = effective && (!strikes || c.After)
	}
	if effective {
		f.disk.sync(n)
	}
	if strikes {
		f.cut()
		f.off <- this
		f.hang()
		return fuse.EIO
	}
	f.mu.Unlock()
	return fuse.OK
}
