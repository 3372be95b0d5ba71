//go:build linux

package forgetfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
)

// rootNumber is the inode number of the root directory, as FUSE has it.
const rootNumber = 1

// disk is the contents of a file system: what processes see, and what a power cut would leave.
type disk struct {
	nodes   map[uint64]*node // by inode number; also those that no name leads to any more
	last    uint64           // the highest inode number in use: none is used twice
	changes []*change        // of names, that are not durable; the oldest first
	sector  int64
	full    bool // no file gets more blocks than it has
}

// block is the bytes of a file that it has room for together.
const block = 4096

// node is a file or a directory.
type node struct {
	number uint64
	mode   uint32 // type and permissions, as in stat
	uid    uint32
	gid    uint32
	parent uint64 // the directory that its name was last in
	name   string // its last name
	linked bool   // the name leads to it
	born   bool   // a name of it has been durable

	data   []byte  // of a file, as processes see it
	kept   []byte  // of a file, as far as it was flushed
	writes []write // what makes data of kept; the oldest first

	names     map[string]uint64 // of a directory, as processes see it; nil if it is none
	keptNames map[string]uint64 // of a directory, as far as they are durable
}

// write is one change of a file's contents.
type write struct {
	at     int64
	data   []byte
	size   int64 // the file's new size, if resize
	resize bool
}

// change is one change of names, which survives a power cut as a whole or not at all.
type change struct{ updates []update }

// update is what a name in a directory leads to from then on: 0 for nothing.
type update struct {
	directory uint64
	name      string
	number    uint64
}

func newDisk(sector int64) *disk {
	d := &disk{nodes: make(map[uint64]*node), last: rootNumber, sector: sector}
	d.nodes[rootNumber] = &node{
		number: rootNumber, mode: syscall.S_IFDIR | 0o700, linked: true,
		names: make(map[string]uint64), keptNames: make(map[string]uint64),
	}
	return d
}

func (n *node) isDirectory() bool { return n.names != nil }

// size is in bytes.
func (n *node) size() uint64 { return uint64(len(n.data)) }

// room is how far a file can be written without another block.
func (n *node) room() uint64 { return (n.size() + block - 1) / block * block }

// lookup returns what a name leads to.
func (d *disk) lookup(directory uint64, name string) (*node, syscall.Errno) {
	at := d.nodes[directory]
	if at == nil || !at.isDirectory() {
		return nil, syscall.ENOTDIR
	}
	n := d.nodes[at.names[name]]
	if n == nil {
		return nil, syscall.ENOENT
	}
	return n, 0
}

// make makes a file or a directory, by its mode.
func (d *disk) make(directory uint64, name string, mode, uid, gid uint32) (*node, syscall.Errno) {
	at := d.nodes[directory]
	if at == nil || !at.isDirectory() || !at.linked {
		return nil, syscall.ENOENT
	}
	if at.names[name] != 0 {
		return nil, syscall.EEXIST
	}
	d.last++
	n := &node{number: d.last, mode: mode, uid: uid, gid: gid}
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		n.names, n.keptNames = make(map[string]uint64), make(map[string]uint64)
	}
	d.nodes[n.number] = n
	d.change(update{directory, name, n.number})
	return n, 0
}

// remove removes a name.
func (d *disk) remove(directory uint64, name string, isDirectory bool) syscall.Errno {
	n, errno := d.lookup(directory, name)
	switch {
	case errno != 0:
		return errno
	case isDirectory && !n.isDirectory():
		return syscall.ENOTDIR
	case !isDirectory && n.isDirectory():
		return syscall.EISDIR
	case len(n.names) > 0:
		return syscall.ENOTEMPTY
	}
	d.change(update{directory, name, 0})
	return 0
}

// rename gives what a name leads to another one.
func (d *disk) rename(from uint64, name string, to uint64, as string) syscall.Errno {
	n, errno := d.lookup(from, name)
	if errno != 0 {
		return errno
	}
	target := d.nodes[to]
	if target == nil || !target.isDirectory() || !target.linked {
		return syscall.ENOENT
	}
	if old := d.nodes[target.names[as]]; old != nil {
		switch {
		case old == n:
			return 0
		case old.isDirectory() && !n.isDirectory():
			return syscall.EISDIR
		case !old.isDirectory() && n.isDirectory():
			return syscall.ENOTDIR
		case len(old.names) > 0:
			return syscall.ENOTEMPTY
		}
	}
	d.change(update{from, name, 0}, update{to, as, n.number})
	return 0
}

// exchange has two names lead to each other's files.
func (d *disk) exchange(from uint64, name string, to uint64, as string) syscall.Errno {
	one, errno := d.lookup(from, name)
	if errno != 0 {
		return errno
	}
	other, errno := d.lookup(to, as)
	if errno != 0 {
		return errno
	}
	if one.isDirectory() || other.isDirectory() {
		return syscall.EINVAL // none of those is exchanged here
	}
	d.change(update{from, name, other.number}, update{to, as, one.number})
	return 0
}

// change makes a change of names, which nothing has made durable yet.
func (d *disk) change(updates ...update) {
	for _, u := range updates {
		if old := d.nodes[d.nodes[u.directory].names[u.name]]; old != nil {
			old.linked = false
		}
	}
	for _, u := range updates {
		at := d.nodes[u.directory]
		if u.number == 0 {
			delete(at.names, u.name)
			continue
		}
		at.names[u.name] = u.number
		n := d.nodes[u.number]
		n.parent, n.name, n.linked = u.directory, u.name, true
	}
	d.changes = append(d.changes, &change{updates})
}

// write writes to a file.
func (d *disk) write(n *node, data []byte, at int64) {
	d.alter(n, write{at: at, data: slices.Clone(data)})
}

// resize sets a file's size.
func (d *disk) resize(n *node, size int64) { d.alter(n, write{size: size, resize: true}) }

func (d *disk) alter(n *node, w write) {
	n.data = w.applied(n.data)
	n.writes = append(n.writes, w)
}

// applied returns the contents with the change, which may be made in place.
func (w write) applied(data []byte) []byte {
	if w.resize {
		return sized(data, w.size)
	}
	if end := w.at + int64(len(w.data)); end > int64(len(data)) {
		data = sized(data, end)
	}
	copy(data[w.at:], w.data)
	return data
}

// sized returns data with the size; what is new of it is zeros.
func sized(data []byte, size int64) []byte {
	if grown := size - int64(len(data)); grown > 0 {
		return append(data, make([]byte, grown)...)
	}
	return data[:size]
}

// sync makes a file or a directory durable, with its names.
func (d *disk) sync(n *node) {
	for _, w := range n.writes {
		n.kept = w.applied(n.kept)
	}
	n.writes = nil
	d.settleCreation(n)
	for _, c := range slices.Clone(d.changes) {
		if c.names(n.number) || n.isDirectory() && c.within(n.number) {
			d.settle(c)
		}
	}
}

// settleCreation makes durable that the node was made, and the directories above it were.
func (d *disk) settleCreation(n *node) {
	for ; n != nil; n = d.nodes[n.parent] {
		if !n.born {
			if i := slices.IndexFunc(d.changes, func(c *change) bool { return c.names(n.number) }); i >= 0 {
				d.settle(d.changes[i])
			}
		}
	}
}

func (c *change) names(number uint64) bool {
	return slices.ContainsFunc(c.updates, func(u update) bool { return u.number == number })
}

func (c *change) within(directory uint64) bool {
	return slices.ContainsFunc(c.updates, func(u update) bool { return u.directory == directory })
}

// follows reports whether a change is of a name that an earlier one was of.
func (c *change) follows(earlier *change) bool {
	return slices.ContainsFunc(c.updates, func(u update) bool {
		return slices.ContainsFunc(earlier.updates, func(e update) bool { return e.directory == u.directory && e.name == u.name })
	})
}

// settle makes a change durable, and before it the earlier ones of the same names.
func (d *disk) settle(c *change) {
	i := slices.Index(d.changes, c)
	if i < 0 {
		return
	}
	for _, earlier := range slices.Clone(d.changes[:i]) {
		if c.follows(earlier) {
			d.settle(earlier)
		}
	}
	for _, u := range c.updates {
		if u.number == 0 {
			delete(d.nodes[u.directory].keptNames, u.name)
		} else {
			d.nodes[u.directory].keptNames[u.name] = u.number
			d.nodes[u.number].born = true
		}
	}
	d.changes = slices.DeleteFunc(d.changes, func(o *change) bool { return o == c })
}

// forget is the power cut: it leaves what is durable and chance's choice of the rest.
func (d *disk) forget(chance *rand.Rand) {
	for _, number := range slices.Sorted(maps.Keys(d.nodes)) {
		n := d.nodes[number]
		n.kept = n.survivors(chance, d.sector)
		n.data, n.writes = slices.Clone(n.kept), nil
	}
	// Journalling file systems keep the order of such changes; POSIX does not ask for it.
	pending := slices.Clone(d.changes)
	if chance.IntN(2) == 0 {
		pending = pending[:chance.IntN(len(pending)+1)]
	} else {
		pending = slices.DeleteFunc(pending, func(*change) bool { return chance.IntN(2) == 0 })
	}
	for _, c := range pending {
		d.settle(c)
	}
	d.changes = nil
	d.discard()
}

// discard drops what no durable name leads to, and has the durable names seen.
func (d *disk) discard() {
	found := map[uint64]*node{}
	var walk func(n *node)
	walk = func(n *node) {
		found[n.number] = n
		n.names = maps.Clone(n.keptNames)
		for name, number := range n.names {
			below := d.nodes[number]
			below.parent, below.name, below.linked = n.number, name, true
			if found[number] == nil && below.isDirectory() {
				walk(below)
			}
			found[number] = below
		}
	}
	walk(d.nodes[rootNumber])
	d.nodes = found
}

// survivors are a file's contents after a power cut: what was flushed, and of what was not the
// beginning, or a choice of which each part may be torn, or nothing.
func (n *node) survivors(chance *rand.Rand, sector int64) []byte {
	data, writes := n.kept, n.writes
	keep := 1.0
	switch chance.IntN(4) {
	case 0:
		writes = nil
	case 1:
		writes = writes[:chance.IntN(len(writes)+1)]
	case 2:
		keep = 0.5
	default:
		keep = 0.9
	}
	for i, w := range writes {
		survives := chance.Float64() < keep
		if !survives && w.resize && w.size < int64(len(data)) {
			// What is written to where the file was cut off comes to lie elsewhere on the disk.
			break
		}
		whole := w.resize || chance.IntN(2) == 0 || keep == 1 && i < len(writes)-1
		switch {
		case !survives:
		case whole:
			data = w.applied(data)
		default:
			for _, part := range w.torn(chance, sector) {
				data = part.applied(data)
			}
		}
	}
	return data
}

// torn returns the parts of a write that a power cut leaves of it, cut where sectors meet.
func (w write) torn(chance *rand.Rand, sector int64) (parts []write) {
	end := w.at + int64(len(w.data))
	piece := func(from, to int64) {
		if from < to {
			parts = append(parts, write{at: from, data: w.data[from-w.at : to-w.at]})
		}
	}
	cut := func() int64 { // somewhere within
		at := w.at + chance.Int64N(int64(len(w.data))+1)
		return min(max(at-at%sector, w.at), end)
	}
	switch a, b := cut(), cut(); chance.IntN(3) {
	case 0: // the end is missing
		piece(w.at, a)
	case 1: // the beginning is
		piece(a, end)
	default: // the middle is
		piece(w.at, min(a, b))
		piece(max(a, b), end)
	}
	return parts
}

// path is the last that led to a node, from the root.
func (d *disk) path(n *node) string {
	path := n.name
	for n.number != rootNumber && n.parent != rootNumber {
		if n = d.nodes[n.parent]; n == nil {
			break
		}
		path = n.name + "/" + path
	}
	return path
}
