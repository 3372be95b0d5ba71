//go:build e2e

package drills

import (
	"context"
	"fmt"
	"strconv"
)

// answers are the clock guard's counts since the daemon's start, by the names of its answers.
type answers map[string]uint64

func guardAnswers(ctx context.Context, h *Host) (answers, error) {
	said, err := h.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: INFO: %w", h.Name, err)
	}
	a, err := parseAnswers(said)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.Name, err)
	}
	return a, nil
}

// parseAnswers takes the counts out of INFO.
func parseAnswers(said map[string]string) (answers, error) {
	a := answers{}
	for _, name := range []string{"sleep", "ring", "release", "backfill", "wait"} {
		n, err := strconv.ParseUint(said["answered_"+name], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("INFO does not say how often the clock guard answered by %s: %w", name, err)
		}
		a[name] = n
	}
	return a, nil
}

func (a answers) since(before answers) answers {
	d := answers{}
	for name, n := range a {
		d[name] = n - before[name]
	}
	return d
}

func (a answers) String() string {
	return fmt.Sprintf("sleep %d, ring %d, re-lease %d, backfill %d, wait %d", a["sleep"], a["ring"], a["release"], a["backfill"], a["wait"])
}
