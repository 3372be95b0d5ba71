package resp

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Runs come out as they would if each ID was written by itself, whatever was written before.
func TestRunsAreWrittenLikeSingleIDs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]byte(":($")).Draw(rt, "kind")
		l := line{kind: kind}
		step := rapid.SampledFrom([]int64{1, 2, 99, 100, 1 << 16}).Draw(rt, "step")
		var last int64
		for range rapid.IntRange(1, 8).Draw(rt, "runs") {
			first := rapid.OneOf(
				rapid.Int64Range(0, 1<<63-1-1<<25),
				rapid.Int64Range(0, 300),
				rapid.Custom(func(rt *rapid.T) int64 {
					return max(0, min(last, 1<<63-1-1<<25)+rapid.Int64Range(-300, 300).Draw(rt, "further"))
				}),
			).Draw(rt, "first")
			n := rapid.IntRange(0, 250).Draw(rt, "n")
			before := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(rt, "before")
			want := append([]byte(nil), before...)
			for i := range int64(n) {
				last = first + i*step
				want = append(want, kind)
				if kind == '$' {
					want = append(strconv.AppendInt(want, int64(len(strconv.FormatInt(last, 10))), 10), '\r', '\n')
				}
				want = append(strconv.AppendInt(want, last, 10), '\r', '\n')
			}
			if got := l.appendRun(before, first, step, n); string(got) != string(want) {
				rt.Fatalf("%d from %d: %q, want %q", n, first, got, want)
			}
		}
	})
}
