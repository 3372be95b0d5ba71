//go:build linux

package forgetfs

import (
	"maps"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const estale = syscall.ESTALE

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
		return fuse.Status(estale)
	}
	return fuse.Status(do(c.fs.disk, n))
}

func describe(n *node, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino: n.number, Size: n.size(), Blocks: (n.size() + 511) / 512, Blksize: 4096, Mode: n.mode,
		Mtime: uint64(n.mtime.Unix()), Mtimensec: uint32(n.mtime.Nanosecond()),
		Owner: fuse.Owner{Uid: n.uid, Gid: n.gid},
	}
	out.Atime, out.Atimensec, out.Ctime, out.Ctimensec = out.Mtime, out.Mtimensec, out.Mtime, out.Mtimensec
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

func (c *calls) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return c.with(in.NodeId, func(d *disk, n *node) syscall.Errno {
		if size, given := in.GetSize(); given {
			if n.isDirectory() {
				return syscall.EISDIR
			}
			d.resize(n, int64(size))
		}
		if mode, given := in.GetMode(); given {
			n.mode = n.mode&syscall.S_IFMT | mode&0o7777
		}
		if uid, given := in.GetUID(); given {
			n.uid = uid
		}
		if gid, given := in.GetGID(); given {
			n.gid = gid
		}
		if at, given := in.GetMTime(); given {
			n.mtime = at
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

func (c *calls) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return c.make(&in.InHeader, name, in.Mode, out)
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
		switch in.Flags {
		case 0, unix.RENAME_NOREPLACE:
			return d.rename(at.number, name, in.Newdir, as, in.Flags == 0)
		case unix.RENAME_EXCHANGE:
			return d.exchange(at.number, name, in.Newdir, as)
		}
		return syscall.EINVAL
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

func (c *calls) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE of fallocate(2)
	if in.Mode&^keepSize != 0 {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	return c.with(in.NodeId, func(d *disk, n *node) syscall.Errno {
		end := in.Offset + in.Length
		if d.full && end > n.room() {
			return syscall.ENOSPC
		}
		if in.Mode&keepSize == 0 && end > n.size() {
			d.resize(n, int64(end))
		}
		return 0
	})
}

func (c *calls) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	const dataOnly = 1 // FUSE_FSYNC_FDATASYNC
	return c.fs.flush(in.NodeId, in.FsyncFlags&dataOnly != 0)
}

// FsyncDir is the same for fsync and fdatasync: a directory has no contents but its names.
func (c *calls) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return c.fs.flush(in.NodeId, false)
}

// OpenDir notes what is listed: a listing does not change while it is read.
func (c *calls) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return c.with(in.NodeId, func(d *disk, at *node) syscall.Errno {
		list := []fuse.DirEntry{{Name: ".", Ino: at.number, Mode: at.mode}, {Name: "..", Ino: max(at.parent, rootNumber), Mode: at.mode}}
		for _, name := range slices.Sorted(maps.Keys(at.names)) {
			n := d.nodes[at.names[name]]
			list = append(list, fuse.DirEntry{Name: name, Ino: n.number, Mode: n.mode})
		}
		c.fs.handles++
		c.fs.lists[c.fs.handles] = list
		out.Fh = c.fs.handles
		return 0
	})
}

func (c *calls) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return c.with(in.NodeId, func(*disk, *node) syscall.Errno {
		list := c.fs.lists[in.Fh]
		for i := int(in.Offset); i < len(list); i++ {
			e := list[i]
			e.Off = uint64(i) + 1
			if !out.AddDirEntry(e) {
				break
			}
		}
		return 0
	})
}

// ReleaseDir is answered with the power off, too: the kernel sends it for who is gone.
func (c *calls) ReleaseDir(in *fuse.ReleaseIn) {
	c.fs.mu.Lock()
	defer c.fs.mu.Unlock()
	delete(c.fs.lists, in.Fh)
}

// Flush is what the kernel asks for at each close of a descriptor, which flushes nothing.
func (c *calls) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

// Access lets whoever could mount it.
func (c *calls) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }

func (c *calls) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	const blocks = 1 << 18 // of 4 KiB
	*out = fuse.StatfsOut{Blocks: blocks, Bfree: blocks, Bavail: blocks, Files: blocks, Ffree: blocks, Bsize: 4096, Frsize: 4096, NameLen: 255}
	return fuse.OK
}
