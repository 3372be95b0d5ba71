//go:build linux

package forgetfs

import (
	"maps"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// calls answers the kernel. It tells it to remember nothing but pages, and those it drops when a
// file is opened.
type calls struct {
	fuse.RawFileSystem
	fs *FS
}

// with runs do on a node, with the file system's lock, unless the power is off.
func (c *calls) with(number uint64, do func(d *disk, n *node) syscall.Errno) fuse.Status {
	if !c.fs.enter() {
		return fuse.EIO
	}
	defer c.fs.mu.Unlock()
	n := c.fs.disk.nodes[number]
	if n == nil {
		return fuse.Status(syscall.ESTALE)
	}
	return fuse.Status(do(c.fs.disk, n))
}

func describe(n *node, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino: n.number, Size: n.size(), Blocks: (n.size() + 511) / 512, Blksize: 4096, Mode: n.mode,
		Owner: fuse.Owner{Uid: n.uid, Gid: n.gid},
	}
	switch {
	case n.isDirectory():
		out.Nlink = 2
	case n.linked:
		out.Nlink = 1
	}
}

func entry(n *node, out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.number, n.number
	describe(n, &out.Attr)
}

func (c *calls) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return c.with(in.NodeId, func(d *disk, at *node) syscall.Errno {
		n, errno := d.lookup(at.number, name)
		if errno == 0 {
			entry(n, out)
		}
		return errno
	})
}

func (c *calls) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return c.with(in.NodeId, func(_ *disk, n *node) syscall.Errno {
		describe(n, &out.Attr)
		return 0
	})
}

// SetAttr sets a size. That all else is not set shows to nobody who uses it.
func (c *calls) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return c.with(in.NodeId, func(d *disk, n *node) syscall.Errno {
		if size, given := in.GetSize(); given {
			d.resize(n, int64(size))
		}
		describe(n, &out.Attr)
		return 0
	})
}

func (c *calls) make(in *fuse.InHeader, name string, mode uint32, out *fuse.EntryOut) fuse.Status {
	return c.with(in.NodeId, func(d *disk, at *node) syscall.Errno {
		n, errno := d.make(at.number, name, mode, in.Uid, in.Gid)
		if errno == 0 {
			entry(n, out)
		}
		return errno
	})
}

func (c *calls) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return c.make(&in.InHeader, name, syscall.S_IFDIR|in.Mode&0o7777, out)
}

func (c *calls) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	return c.make(&in.InHeader, name, syscall.S_IFREG|in.Mode&0o7777, &out.EntryOut)
}

func (c *calls) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return c.with(in.NodeId, func(d *disk, at *node) syscall.Errno { return d.remove(at.number, name, false) })
}

func (c *calls) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return c.with(in.NodeId, func(d *disk, at *node) syscall.Errno { return d.remove(at.number, name, true) })
}

func (c *calls) Rename(_ <-chan struct{}, in *fuse.RenameIn, name, as string) fuse.Status {
	return c.with(in.NodeId, func(d *disk, at *node) syscall.Errno {
		if in.Flags == unix.RENAME_EXCHANGE {
			return d.exchange(at.number, name, in.Newdir, as)
		}
		return d.rename(at.number, name, in.Newdir, as)
	})
}

func (c *calls) Open(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	return c.with(in.NodeId, func(*disk, *node) syscall.Errno { return 0 })
}

func (c *calls) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	var got int
	status := c.with(in.NodeId, func(_ *disk, n *node) syscall.Errno {
		if in.Offset < n.size() {
			got = copy(buf, n.data[in.Offset:])
		}
		return 0
	})
	return fuse.ReadResultData(buf[:got]), status
}

func (c *calls) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	status := c.with(in.NodeId, func(d *disk, n *node) syscall.Errno {
		if d.full && in.Offset+uint64(len(data)) > n.room() {
			return syscall.ENOSPC
		}
		d.write(n, data, int64(in.Offset))
		return 0
	})
	return uint32(len(data)), status
}

func (c *calls) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return c.fs.flush(in.NodeId) }

func (c *calls) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return c.fs.flush(in.NodeId)
}

func (c *calls) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	return c.with(in.NodeId, func(*disk, *node) syscall.Errno { return 0 })
}

// ReadDir lists by inode number, and goes on behind the last one: names may come and go meanwhile.
func (c *calls) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return c.with(in.NodeId, func(d *disk, at *node) syscall.Errno {
		for _, number := range slices.Sorted(maps.Values(at.names)) {
			n := d.nodes[number]
			if number > in.Offset && !out.AddDirEntry(fuse.DirEntry{Name: n.name, Ino: number, Mode: n.mode, Off: number}) {
				break
			}
		}
		return 0
	})
}

func (c *calls) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	const blocks = 1 << 18 // of 4 KiB
	*out = fuse.StatfsOut{Blocks: blocks, Bfree: blocks, Bavail: blocks, Files: blocks, Ffree: blocks, Bsize: 4096, Frsize: 4096, NameLen: 255}
	return fuse.OK
}
