package ask

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/internal/wire"
)

// FuzzReplies: IDs of a reply are noted down as runs that have the same IDs in the same order, and
// as many as were asked for; anything else is not what was asked for.
func FuzzReplies(f *testing.F) {
	ints := func(all ...int64) (b []byte) {
		for _, n := range all {
			b = binary.BigEndian.AppendUint64(b, uint64(n))
		}
		return b
	}
	f.Add(ints(1, 2, 3, 8, 9, 20), 6)
	f.Add(ints(4, 100, 3, 200, 1), 4)
	f.Add(ints(1, 1<<62, 9), 9)
	f.Add(ints(-1), 1)
	f.Fuzz(func(t *testing.T, b []byte, want int) {
		want %= 1 << 12
		var all []int64
		for ; len(b) >= 8; b = b[8:] {
			all = append(all, int64(binary.BigEndian.Uint64(b)))
		}
		if runs, err := batch(all, want); err == nil {
			if got := listed(runs); !slices.Equal(got, all) || len(all) != want {
				t.Errorf("%d became %v: %d", all, runs, got)
			}
		} else if !errors.Is(err, errWrong) {
			t.Errorf("%d: %v", all, err)
		}
		if runs, err := inRuns(all, want); err == nil {
			expanded, err := wire.Expand(nil, all)
			if got := listed(runs); want > 0 && (err != nil || !slices.Equal(got, expanded) || len(got) != want) {
				t.Errorf("%d became %v: %d instead of %d, %v", all, runs, got, expanded, err)
			}
		} else if !errors.Is(err, errWrong) {
			t.Errorf("%d: %v", all, err)
		}
	})
}

func listed(runs []evidence.Run) (ids []int64) {
	for _, r := range runs {
		for i := range r.N {
			ids = append(ids, r.First+int64(i)*r.Step)
		}
	}
	return ids
}
