package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"google.golang.org/protobuf/proto"
)

// segment is a file of the log: its sequence number, and the index of its first entry.
type segment struct {
	path          string
	number, first uint64
}

// finishPurge removes the log's segments before a gap. etcd removes the segments that a snapshot
// has made superfluous, the oldest first, and does not flush the directory. A power cut may undo
// one removal and not a later one, and etcd does not start with the gap. No other gap comes from a
// power cut, as a segment's name is durable before the next segment has one. Where a snapshot does
// not show that the segments were superfluous, the gap is an error, and nothing is removed.
func finishPurge(dir string) error {
	segments, err := listSegments(filepath.Join(dir, "member", "wal"))
	if err != nil {
		return fmt.Errorf("the log of the embedded etcd cannot be listed: %w", err)
	}
	gap := len(segments) - 1
	for gap > 0 && segments[gap-1].number+1 == segments[gap].number {
		gap--
	}
	if gap <= 0 {
		return nil
	}
	before, after := segments[gap-1], segments[gap]
	whole, err := startsWith(segments[gap:])
	if err != nil {
		return fmt.Errorf("the log of the embedded etcd cannot be read after the gap before %s: %w", after.path, err)
	}
	if !whole {
		return fmt.Errorf("the log of the embedded etcd has a gap between %s and %s that no snapshot covers, so writes may be missing: put the missing segments back", before.path, after.path)
	}
	for _, s := range segments[:gap] {
		if err := os.Remove(s.path); err != nil {
			return fmt.Errorf("a superfluous segment of the embedded etcd's log cannot be removed: %w", err)
		}
	}
	return nil
}

// listSegments returns the log's segments, the oldest first.
func listSegments(dir string) ([]segment, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var segments []segment
	for _, f := range files {
		s := segment{path: filepath.Join(dir, f.Name())}
		_, err := fmt.Sscanf(f.Name(), "%016x-%016x.wal", &s.number, &s.first)
		if err == nil && filepath.Ext(f.Name()) == ".wal" {
			segments = append(segments, s)
		}
	}
	return segments, nil
}

// startsWith reports whether etcd can start with these segments alone: they have the record of a
// committed snapshot and every entry after it.
func startsWith(segments []segment) (bool, error) {
	var readers []fileutil.FileReader
	for _, s := range segments {
		f, err := os.Open(s.path)
		if err != nil {
			return false, err
		}
		defer f.Close()
		readers = append(readers, fileutil.NewFileReader(f))
	}
	var committed, snapshot uint64 // the log's last commit; its first snapshot that needs no earlier segment
	decoder := wal.NewDecoder(readers...)
	for {
		var record walpb.Record
		switch err := decoder.Decode(&record); {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF): // where the last write was torn
			return snapshot > 0 && snapshot <= committed, nil
		case err != nil:
			return false, err
		}
		switch record.GetType() {
		case wal.CrcType:
			decoder.UpdateCRC(record.GetCrc())
		case wal.StateType:
			committed = wal.MustUnmarshalState(record.Data).GetCommit()
		case wal.SnapshotType:
			var s walpb.Snapshot
			if err := proto.Unmarshal(record.Data, &s); err != nil {
				return false, err
			}
			if snapshot == 0 && s.GetIndex() >= segments[0].first {
				snapshot = s.GetIndex()
			}
		}
	}
}
