package ask

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

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
			if got := expand(runs); !slices.Equal(got, all) || len(all) != want {
				t.Errorf("%d became %v: %d", all, runs, got)
			}
		} else if !errors.Is(err, errWrong) {
			t.Errorf("%d: %v", all, err)
		}
		reply := fmt.Appendf(nil, "*%d\r\n", len(all))
		for _, n := range all {
			reply = fmt.Appendf(reply, ":%d\r\n", n)
		}
		pairs, step, err := wire.NewReader(bytes.NewReader(reply)).Runs(nil, int64(want))
		if err != nil {
			return
		}
		if runs, err := inRuns(pairs, step, want); err == nil {
			if got := expand(runs); len(got) != want || got[0] != all[1] || got[want-1] != all[len(all)-2]+(all[len(all)-1]-1)*all[0] {
				t.Errorf("%d became %v: %d", all, runs, got)
			}
		} else if !errors.Is(err, errWrong) {
			t.Errorf("%d: %v", all, err)
		}
	})
}
