package zkserver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
)

// A snapshot is, in ZooKeeper's own serialization (big-endian; strings and buffers
// after their length in 4 bytes, -1 for none):
//
//	"ZKSN", version (4), database (8)
//	sessions: count (4), each: ID (8), timeout (4)
//	ACLs: count (4), each: number (8), entries (4), each: permissions (4), scheme, ID
//	nodes: path, data, ACL (8), then czxid, mzxid, ctime, mtime (8 each), version,
//	  cversion, aversion (4 each), owner, pzxid (8 each); the root's path is empty
//	"/", which ends the nodes
//	the seal: the Adler-32 of all before (8), "/"
//	more, since 3.6, which a server does without: a digest and its own seal
const snapshotMagic = "ZKSN"

var errShort = errors.New("it is cut off")

// snapshot reads through one. After the first error everything read is zero.
type snapshot struct {
	all []byte
	at  int
	err error
}

func (s *snapshot) take(n int) []byte {
	if s.err == nil && (n < 0 || n > len(s.all)-s.at) {
		s.err = errShort
	}
	if s.err != nil {
		return make([]byte, 8)
	}
	s.at += n
	return s.all[s.at-n : s.at]
}

func (s *snapshot) int32() int32 { return int32(binary.BigEndian.Uint32(s.take(4))) }
func (s *snapshot) skip(n int)   { s.take(n) }

func (s *snapshot) bytes() []byte {
	n := s.int32()
	if n < 0 || s.err != nil {
		return nil
	}
	return s.take(int(n))
}

// counterAt is the offset of the node's cversion, and of what follows the last node.
func counterAt(all []byte, node string) (counter, end int, err error) {
	if node == "/" {
		node = ""
	}
	s := &snapshot{all: all}
	if string(s.take(len(snapshotMagic))) != snapshotMagic {
		return 0, 0, errors.New("it does not begin with " + snapshotMagic)
	}
	s.skip(4 + 8)
	for n := s.int32(); n > 0 && s.err == nil; n-- {
		s.skip(8 + 4)
	}
	for n := s.int32(); n > 0 && s.err == nil; n-- {
		s.skip(8)
		for n := s.int32(); n > 0 && s.err == nil; n-- {
			s.skip(4)
			s.bytes()
			s.bytes()
		}
	}
	for {
		path := s.bytes()
		if s.err != nil {
			return 0, 0, s.err
		}
		if string(path) == "/" {
			break
		}
		s.bytes()
		s.skip(8 + 4*8 + 4)
		if string(path) == node {
			counter = s.at
		}
		s.skip(4 + 4 + 2*8)
	}
	if counter == 0 {
		return 0, 0, fmt.Errorf("it has no node %q", node)
	}
	return counter, s.at, nil
}

// setCounter returns the snapshot with the node's cversion changed, and sealed anew.
func setCounter(all []byte, node string, value int32) ([]byte, error) {
	counter, end, err := counterAt(all, node)
	if err != nil {
		return nil, err
	}
	if sum := all[end:]; len(sum) < 8 || binary.BigEndian.Uint64(sum) != uint64(adler32.Checksum(all[:end])) {
		return nil, errors.New("its seal is not that of its content, so it has another form than ZooKeeper 3.5 to 3.9 write")
	}
	changed := bytes.Clone(all[:end])
	binary.BigEndian.PutUint32(changed[counter:], uint32(value))
	changed = binary.BigEndian.AppendUint64(changed, uint64(adler32.Checksum(changed)))
	return append(changed, 0, 0, 0, 1, '/'), nil
}
