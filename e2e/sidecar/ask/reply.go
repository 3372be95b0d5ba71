package ask

import (
	"errors"
	"fmt"
	"math"

	"github.com/flakeward/flakeward/audit/evidence"
)

// errWrong is a reply that is in order as RESP and is not what was asked for.
var errWrong = errors.New("not what was asked for")

// reply reads one reply. Besides the errors of a wire.Reader it returns errWrong.
func (a *asker) reply() ([]evidence.Run, error) {
	var err error
	switch a.asking {
	case evidence.Batch:
		if a.ints, err = a.replies.Ints(a.ints[:0]); err != nil {
			return nil, err
		}
		return batch(a.ints, a.ids)
	case evidence.InRuns:
		if a.ints, err = a.replies.Ints(a.ints[:0]); err != nil {
			return nil, err
		}
		return inRuns(a.ints, a.ids)
	}
	id, err := a.replies.Int()
	if err != nil {
		return nil, err
	}
	return batch([]int64{id}, 1)
}

// batch is IDs as runs of the smallest step between two neighbours, in the same order.
func batch(ids []int64, want int) ([]evidence.Run, error) {
	if len(ids) != want {
		return nil, fmt.Errorf("%w: %d IDs instead of %d", errWrong, len(ids), want)
	}
	step := int64(math.MaxInt64)
	for i, id := range ids {
		if id < 0 {
			return nil, fmt.Errorf("%w: %d is no ID", errWrong, id)
		}
		if i > 0 && id > ids[i-1] {
			step = min(step, id-ids[i-1])
		}
	}
	var runs []evidence.Run
	for i, id := range ids {
		if i > 0 && id > ids[i-1] && id-ids[i-1] == step {
			last := &runs[len(runs)-1]
			last.Step = step
			last.N++
			continue
		}
		runs = append(runs, evidence.Run{First: id, Step: 1, N: 1})
	}
	return runs, nil
}

// inRuns is a reply to RUN: the step, and then pairs of a first ID and how many.
func inRuns(ints []int64, want int) ([]evidence.Run, error) {
	if len(ints)%2 != 1 || ints[0] < 1 {
		return nil, fmt.Errorf("%w: %d integers are no runs", errWrong, len(ints))
	}
	step := ints[0]
	runs := make([]evidence.Run, 0, len(ints)/2)
	left := int64(want)
	for i := 1; i < len(ints); i += 2 {
		first, n := ints[i], ints[i+1]
		if first < 0 || n < 1 || n > left || step > (math.MaxInt64-first)/n {
			return nil, fmt.Errorf("%w: a run of %d from %d on, with %d IDs of %d to come", errWrong, n, first, left, want)
		}
		left -= n
		runs = append(runs, evidence.Run{First: first, Step: step, N: int(n)})
	}
	if left > 0 {
		return nil, fmt.Errorf("%w: %d IDs of %d are missing", errWrong, left, want)
	}
	return runs, nil
}
