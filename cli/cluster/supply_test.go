package cluster

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
)

func TestSupply(t *testing.T) {
	held := func(worker int, left time.Duration) coord.Mark {
		return coord.Mark{Worker: worker, Ceiling: at(left), Claim: "somebody's"}
	}
	gone := func(worker int, left time.Duration) coord.Mark { return coord.Mark{Worker: worker, Ceiling: at(left)} }
	const layout = "time=41@1ms,worker=2,sequence=12;epoch=2026-01-01T00:00:00Z"
	for _, c := range []struct {
		name   string
		layout string
		assign coord.WorkerRange
		marks  []coord.Mark
		want   string
	}{
		{name: "nobody yet", layout: layout, want: "0 held, 0 resting, 4 free; if all hosts lost power now, nobody would wait"},
		{
			name: "one of each", layout: layout, marks: []coord.Mark{held(0, time.Minute), gone(1, time.Minute), gone(2, -time.Minute)},
			want: "1 held, 1 resting, 2 free; if all hosts lost power now, nobody would wait",
		},
		{
			name: "as many held as free", layout: layout, marks: []coord.Mark{held(0, time.Minute), held(1, time.Minute)},
			want: "2 held, 0 resting, 2 free; if all hosts lost power now, nobody would wait",
		},
		{
			name: "more held than free", layout: layout, marks: []coord.Mark{held(0, 9*time.Minute), held(1, time.Minute), held(2, 2*time.Minute)},
			want: "3 held, 0 resting, 1 free; if all hosts lost power now, 2 of 3 daemons would wait, the last for 2m0s",
		},
		{
			name: "one that rests for longer is taken last", layout: layout, marks: []coord.Mark{gone(0, 9*time.Minute), held(1, time.Minute), held(2, 2*time.Minute)},
			want: "2 held, 1 resting, 1 free; if all hosts lost power now, 1 of 2 daemons would wait, the last for 1m0s",
		},
		{
			name: "a record that cannot be read", layout: layout, marks: []coord.Mark{{Worker: 0, Damaged: true}, held(1, time.Minute), held(2, time.Minute)},
			want: "2 held, 0 resting, 1 free, 1 damaged; if all hosts lost power now, 1 of 2 daemons would wait, the last for 1m0s",
		},
		{
			name: "a range", layout: layout, assign: coord.WorkerRange{First: 2, Count: 2}, marks: []coord.Mark{held(1, time.Minute), held(2, 3*time.Minute), held(3, 2*time.Minute)},
			want: "2 held, 0 resting, 0 free; if all hosts lost power now, 2 of 2 daemons would wait, the last for 3m0s",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := sample(t, c.layout, 0)
			cluster.Range = c.assign.Of(cluster.Workers)
			if got := cluster.supplyOf(noon, c.marks).String(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
