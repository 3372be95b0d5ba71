package ask

import (
	"errors"
	"fmt"
	"math"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/internal/wire"
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
		var step int64
		if a.pairs, step, err = a.replies.Runs(a.pairs[:0], int64(a.ids)); err != nil {
			return nil, err
		}
		return inRuns(a.pairs, step, a.ids)
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

// inRuns is a reply to RUN.
func inRuns(pairs []wire.Pair, step int64, want int) ([]evidence.Run, error) {
	runs := make([]evidence.Run, len(pairs))
	for i, p := range pairs {
		runs[i] = evidence.Run{First: p.First, Step: step, N: int(p.N)}
		want -= runs[i].N
	}
	if want != 0 {
		return nil, fmt.Errorf("%w: %d IDs are missing", errWrong, want)
	}
	return runs, nil
}
