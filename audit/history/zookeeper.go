package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ZooKeeper returns every version that was ever stored of each record below the chroot,
// by zxid, from the transaction logs of all members. Each directory is one member's
// dataDir (with version-2 below it), and there must be one for each voter of the
// ensemble, whether it runs or not: a majority is counted by them. The logs may be
// written meanwhile; what a client was told before the call is in the answer.
//
// A transaction counts if a majority has it (in its log, or in a snapshot of the same
// epoch), or if one that counts follows it, in its epoch or in a log that goes on into a
// later one. What was proposed and rolled back does not count, whatever logs it is still
// in; nor does what only a minority has logged at the end. This relies on Zab: one leader
// proposes in an epoch, without gaps; whoever has a majority's acknowledgement is in the
// log of every later leader; a follower whose log went another way has it cut, or is sent
// a snapshot, which it stores before it logs more.
//
// It is an error, and not a gap, if a log is missing or damaged, if two members differ,
// or if a record's versions do not follow each other. Servers must keep all: that is
// autopurge.purgeInterval=0, and no dataLogDir apart. Both logs and snapshots are needed.
func ZooKeeper(dataDirs []string, chroot string) ([]Version, error) {
	root, err := rooted(chroot)
	if err != nil {
		return nil, err
	}
	if len(dataDirs) == 0 {
		return nil, errors.New("history: no data directory of a ZooKeeper server is named; give that of each member")
	}
	versions, err := logged(dataDirs, root+"/workers/")
	if err != nil {
		return nil, fmt.Errorf("history: ZooKeeper below %s: %w", root, err)
	}
	return versions, nil
}

func logged(dataDirs []string, prefix string) ([]Version, error) {
	wanted := func(path string) bool { return strings.HasPrefix(path, prefix) }
	all := ensemble{}
	txns := map[int64]transaction{}
	for _, dir := range dataDirs {
		dir = filepath.Join(dir, "version-2")
		own, err := readLogs(dir, wanted)
		if err != nil {
			return nil, err
		}
		s := server{name: dir}
		for _, txn := range own {
			if other, ok := txns[txn.zxid]; ok && other.sum != txn.sum {
				return nil, fmt.Errorf("%s: transaction 0x%x is another one than in another member's log: they are not of one ensemble", dir, txn.zxid)
			}
			txns[txn.zxid] = txn
			s.log = append(s.log, txn.zxid)
		}
		// After the logs: a snapshot that was sent is stored before more is logged.
		if s.snapshots, err = numbered(dir, "snapshot."); err != nil {
			return nil, err
		}
		all.servers = append(all.servers, s)
	}
	for zxid := range txns {
		all.logged = append(all.logged, zxid)
	}
	slices.Sort(all.logged)
	all.matters = func(zxid int64) bool { return len(txns[zxid].changes) > 0 }
	committed, err := all.settled()
	if err != nil {
		return nil, err
	}
	r := zkReplay{prefix: prefix, last: map[int]int32{}}
	for _, zxid := range committed {
		for _, c := range txns[zxid].changes {
			if err := r.add(zxid, c); err != nil {
				return nil, fmt.Errorf("transaction 0x%x: %s: %w", zxid, c.path, err)
			}
		}
	}
	return r.versions, nil
}

// readLogs returns all transactions of a member, by zxid.
func readLogs(dir string, wanted func(path string) bool) ([]transaction, error) {
	files, err := numbered(dir, "log.")
	if err != nil {
		return nil, err
	}
	var all []transaction
	for _, first := range files {
		path := filepath.Join(dir, "log."+strconv.FormatInt(first, 16))
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		txns, err := parseLog(content, wanted)
		if err == nil && len(txns) > 0 && txns[0].zxid != first {
			err = fmt.Errorf("it begins with the transaction 0x%x, which is not what it is named by", txns[0].zxid)
		}
		if err == nil {
			all, err = joined(all, txns)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}

// joined appends more to all. A member that comes back may log again what it had.
func joined(all, more []transaction) ([]transaction, error) {
	for _, txn := range more {
		at, again := slices.BinarySearchFunc(all, txn.zxid, func(t transaction, zxid int64) int {
			switch {
			case t.zxid < zxid:
				return -1
			case t.zxid > zxid:
				return 1
			}
			return 0
		})
		switch {
		case again && all[at].sum != txn.sum:
			return nil, fmt.Errorf("there are two transactions 0x%x", txn.zxid)
		case again:
		case at < len(all):
			return nil, fmt.Errorf("transaction 0x%x comes after 0x%x", txn.zxid, all[len(all)-1].zxid)
		default:
			all = append(all, txn)
		}
	}
	return all, nil
}

// numbered returns the zxids that a member's files of one kind are named by, rising.
// A member that has not started yet has none.
func numbered(dir, prefix string) ([]int64, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(dir)); err != nil {
			return nil, err
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var zxids []int64
	for _, file := range files {
		digits, ok := strings.CutPrefix(file.Name(), prefix)
		zxid, err := strconv.ParseInt(digits, 16, 64)
		if ok && err == nil && strconv.FormatInt(zxid, 16) == digits {
			zxids = append(zxids, zxid)
		}
	}
	slices.Sort(zxids)
	return zxids, nil
}

// zkReplay is what the transactions have told so far.
type zkReplay struct {
	prefix   string
	last     map[int]int32 // the version of each node that is there
	versions []Version
}

var errMissing = errors.New("transactions are missing")

func (r *zkReplay) add(zxid int64, c change) error {
	worker, err := workerOf(strings.TrimPrefix(c.path, r.prefix))
	if err != nil {
		return err
	}
	last, there := r.last[worker]
	switch {
	case c.kind == created && there:
		return fmt.Errorf("it was made and was there: %w", errMissing)
	case c.kind != created && !there:
		return fmt.Errorf("it was changed and was not there: %w", errMissing)
	case c.kind == set && c.version != last+1:
		return fmt.Errorf("it got version %d after %d: %w", c.version, last, errMissing)
	case c.kind == deleted:
		delete(r.last, worker)
		r.versions = append(r.versions, Version{Order: zxid, Worker: worker, Gone: true})
		return nil
	}
	v, err := version(zxid, worker, c.data)
	if err != nil {
		return err
	}
	r.last[worker] = c.version
	r.versions = append(r.versions, v)
	return nil
}
