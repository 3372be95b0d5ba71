package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
)

// A transaction log is, in ZooKeeper's own serialization (big-endian; strings, buffers
// and lists after their length in 4 bytes, -1 for none):
//
//	"ZKLG", version (4), database (8)
//	transactions: the Adler-32 of the payload (8), its length (4), the payload, 'B'
//	zeros to the end of what was allocated
//
// A payload is a header, that is session (8), number (4), zxid (8), time (8), type (4),
// then the record of that type, then since 3.6 a digest of the tree, which may be missing:
// version (4), digest (8). A multi's record is a list of transactions, each a type (4) and
// a buffer with the record.
const (
	logMagic   = "ZKLG"
	logVersion = 2
	logHeader  = len(logMagic) + 4 + 8

	frameHead  = 8 + 4
	frameEnd   = 'B'
	txnHeader  = 8 + 4 + 8 + 8 + 4
	digestSize = 4 + 8
)

// The types of transactions that members write who serve flakeward and tests alone: nobody makes
// containers, nodes with a time to live or another ensemble.
const (
	typeCreate        = 1
	typeDelete        = 2
	typeSetData       = 5
	typeSetACL        = 7
	typeCheck         = 13
	typeMulti         = 14
	typeCreate2       = 15
	typeCreateSession = -10
	typeCloseSession  = -11
	typeError         = -1
)

// transaction is one of a log.
type transaction struct {
	zxid    int64
	sum     [sha256.Size]byte // of the header and the record
	changes []change          // those that were asked for
}

// change is what a transaction does to one node.
type change struct {
	path    string
	data    []byte
	version int32 // the node's from then on, of a set
	kind    changeKind
}

type changeKind int

const (
	created changeKind = iota + 1
	set
	deleted
)

var errShort = errors.New("it is cut off")

// parseLog reads a transaction log and keeps the changes of the paths that wanted tells. The log
// may end anywhere, as one that is being written or whose server was killed: a transaction that is
// not whole ends it. One that is not whole and has a whole one behind it is an error.
func parseLog(all []byte, wanted func(path string) bool) ([]transaction, error) {
	all = trimZeros(all)
	if len(all) == 0 {
		return nil, nil
	}
	if short := logHeader - len(all); short > 0 { // the header too ends in zeros
		all = append(bytes.Clone(all), make([]byte, short)...)
	}
	if !bytes.HasPrefix(all, []byte(logMagic)) {
		return nil, errors.New("it is no transaction log")
	}
	if v := binary.BigEndian.Uint32(all[len(logMagic):]); v != logVersion {
		return nil, fmt.Errorf("it is of version %d, and %d is what is known here", v, logVersion)
	}
	var txns []transaction
	for at := logHeader; at < len(all); {
		payload, ok := frameAt(all, at)
		if !ok {
			for behind := at + 1; behind < len(all); behind++ {
				if _, ok := frameAt(all, behind); ok {
					return nil, fmt.Errorf("offset %d: it is damaged: there is no transaction here, and one at %d", at, behind)
				}
			}
			break
		}
		txn, err := parseTransaction(payload, wanted)
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w", at, err)
		}
		txns = append(txns, txn)
		at += frameHead + len(payload) + 1
	}
	return txns, nil
}

// trimZeros cuts off the zeros at the end. No transaction ends in one.
func trimZeros(b []byte) []byte {
	var zeros [4096]byte
	for len(b) >= len(zeros) && bytes.Equal(b[len(b)-len(zeros):], zeros[:]) {
		b = b[:len(b)-len(zeros)]
	}
	return bytes.TrimRight(b, "\x00")
}

// frameAt returns the payload of a transaction that begins there and is whole.
func frameAt(all []byte, at int) ([]byte, bool) {
	rest := all[at:]
	if len(rest) < frameHead+txnHeader+1 {
		return nil, false
	}
	sum, size := binary.BigEndian.Uint64(rest), int64(binary.BigEndian.Uint32(rest[8:]))
	if size < txnHeader || size > int64(len(rest)-frameHead-1) || rest[frameHead+size] != frameEnd {
		return nil, false
	}
	payload := rest[frameHead : frameHead+size]
	return payload, sum == uint64(adler32.Checksum(payload))
}

func parseTransaction(payload []byte, wanted func(path string) bool) (transaction, error) {
	r := &jute{rest: payload}
	r.take(8 + 4)
	txn := transaction{zxid: r.int64()}
	r.take(8)
	kind := r.int32()
	if r.err != nil {
		return transaction{}, r.err
	}
	var err error
	failed := false
	if kind == typeMulti {
		txn.changes, failed, err = r.multi(wanted)
	} else {
		txn.changes, err = r.record(kind, wanted)
	}
	if err != nil {
		return transaction{}, fmt.Errorf("transaction 0x%x of type %d: %w", txn.zxid, kind, err)
	}
	if n := len(r.rest); n != 0 && n != digestSize {
		return transaction{}, fmt.Errorf("transaction 0x%x of type %d: %d bytes follow the record, and a digest has %d", txn.zxid, kind, n, digestSize)
	}
	if txn.zxid <= 0 {
		return transaction{}, fmt.Errorf("0x%x is no zxid", txn.zxid)
	}
	own := payload[:len(payload)-len(r.rest)]
	if failed {
		own = own[:txnHeader] // what it was to do differs: see multi
	}
	txn.sum = sha256.Sum256(own)
	return txn, nil
}

// multi reads the transactions of a multi. If one of them has failed, none of them
// has happened. Some are then stored as what they were to do; some as errors, and
// of those the record may still be what it was, in one member's log and not in another's.
func (r *jute) multi(wanted func(path string) bool) (changes []change, failed bool, err error) {
	for n := r.int32(); n > 0 && r.err == nil; n-- {
		kind := r.int32()
		part := &jute{rest: r.bytes()}
		if r.err != nil {
			break
		}
		if kind == typeError {
			failed = true
			continue
		}
		more, err := part.record(kind, wanted)
		if err == nil && len(part.rest) != 0 {
			err = fmt.Errorf("%d bytes follow the record", len(part.rest))
		}
		if err != nil {
			return nil, false, fmt.Errorf("a part of type %d: %w", kind, err)
		}
		changes = append(changes, more...)
	}
	if failed {
		changes = nil
	}
	return changes, failed, r.err
}

// record reads the record of a transaction that is no multi.
func (r *jute) record(kind int32, wanted func(path string) bool) ([]change, error) {
	var c change
	switch kind {
	case typeCreate, typeCreate2:
		c = change{kind: created, path: r.string(), data: r.bytes()}
		r.acl()
		ephemeral := r.take(1)[0] != 0
		r.take(4) // how often the parent has changed
		if ephemeral && r.err == nil && wanted(c.path) {
			return nil, fmt.Errorf("%s ends with its session, which no record does", c.path)
		}
	case typeSetData:
		c = change{kind: set, path: r.string(), data: r.bytes(), version: r.int32()}
	case typeDelete:
		c = change{kind: deleted, path: r.string()}
	case typeSetACL:
		r.string()
		r.acl()
		r.take(4)
	case typeCheck:
		r.string()
		r.take(4)
	case typeCreateSession, typeError:
		r.take(4)
	case typeCloseSession:
		// Nothing before 3.6, then a list of the session's nodes. A list that is as
		// long as a digest is taken for one: what it says does not matter here.
		if len(r.rest) != 0 && len(r.rest) != digestSize {
			for n := r.int32(); n > 0 && r.err == nil; n-- {
				r.string()
			}
		}
	default:
		return nil, errors.New("its type is not known here: a later ZooKeeper's, or nothing that flakeward asks for")
	}
	if r.err != nil || c.kind == 0 || !wanted(c.path) {
		return nil, r.err
	}
	c.data = bytes.Clone(c.data) // the log is not to be kept
	return []change{c}, nil
}

// jute reads ZooKeeper's serialization. After the first error all that is read is zero.
type jute struct {
	rest []byte
	err  error
}

func (r *jute) take(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.rest)) {
		r.err = errShort
	}
	if r.err != nil {
		return make([]byte, 8)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *jute) int32() int32   { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *jute) int64() int64   { return int64(binary.BigEndian.Uint64(r.take(8))) }
func (r *jute) string() string { return string(r.bytes()) }

func (r *jute) bytes() []byte {
	n := r.int32()
	if n < 0 || r.err != nil {
		return nil
	}
	b := r.take(int(n))
	if r.err != nil {
		return nil
	}
	return b
}

// acl skips a list of permissions: each permissions (4), scheme, ID.
func (r *jute) acl() {
	for n := r.int32(); n > 0 && r.err == nil; n-- {
		r.take(4)
		r.bytes()
		r.bytes()
	}
}
