package coord

import (
	"fmt"
	"strconv"
	"strings"
)

// WorkerRange is a range of worker IDs: Count of them, from First on. The zero value stands for all
// that the layout has.
type WorkerRange struct {
	First int `json:"first"`
	Count int `json:"count"`
}

// ParseWorkerRange reads LOW-HIGH, such as 512-1023: both are in the range. An empty text is the
// zero value.
func ParseWorkerRange(text string) (WorkerRange, error) {
	if text == "" {
		return WorkerRange{}, nil
	}
	first, last, ok := strings.Cut(text, "-")
	low, err := strconv.ParseUint(first, 10, 31)
	high, err2 := strconv.ParseUint(last, 10, 31)
	if !ok || err != nil || err2 != nil || high < low || high >= MaxWorkers {
		return WorkerRange{}, fmt.Errorf("%q is no range of worker IDs: write the lowest and the highest, such as 512-1023", text)
	}
	return WorkerRange{First: int(low), Count: int(high-low) + 1}, nil
}

// Last is the highest worker ID of the range; -1 for the zero value.
func (r WorkerRange) Last() int { return r.First + r.Count - 1 }

// Has reports whether a worker ID is in the range. The zero value has none.
func (r WorkerRange) Has(worker int) bool { return worker >= r.First && worker <= r.Last() }

// Without are the ranges of those worker IDs that are in this range and not in the other, which it
// contains.
func (r WorkerRange) Without(other WorkerRange) []WorkerRange {
	return []WorkerRange{{First: r.First, Count: other.First - r.First}, {First: other.Last() + 1, Count: r.Last() - other.Last()}}
}

// Of is the range with all worker IDs, of which there are so many, in the place of the zero value.
func (r WorkerRange) Of(workers int) WorkerRange {
	if r.Count == 0 {
		return WorkerRange{Count: workers}
	}
	return r
}

// Within is the range with the zero value in the place of all worker IDs; an error if some are none
// of the layout's.
func (r WorkerRange) Within(workers int) (WorkerRange, error) {
	if r.First < 0 || r.Count < 0 || r.Last() >= workers {
		return WorkerRange{}, fmt.Errorf("the worker IDs %v are not all within those of the layout, %v", r, WorkerRange{Count: workers})
	}
	if r.Count == workers {
		return WorkerRange{}, nil
	}
	return r, nil
}

// String is LOW-HIGH, or "all".
func (r WorkerRange) String() string {
	if r.Count == 0 {
		return "all"
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last())
}

// Fits returns why a daemon with this layout may not join a cluster: a *LayoutError.
func (l Layout) Fits(cluster Inspected) error {
	if cluster.Layout != l.Text {
		return &LayoutError{Ours: l.Text, Cluster: cluster.Layout}
	}
	return nil
}
