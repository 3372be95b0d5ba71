// Package rounds measures several contestants in turn, so that whatever slows the machine down for
// a while slows all of them.
package rounds

import (
	"context"
	"fmt"
)

// Contestant is measured once in each round.
type Contestant[T any] struct {
	Name    string
	Measure func(context.Context) (T, error)
}

// Interleave measures A B C A B C and so on, in the order given, and returns what came of each:
// [contestant][round]. It ends with the first error, which names the contestant and its round, or
// with ctx.
func Interleave[T any](ctx context.Context, rounds int, contestants ...Contestant[T]) ([][]T, error) {
	got := make([][]T, len(contestants))
	for round := range rounds {
		for i, c := range contestants {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v, err := c.Measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, round %d of %d: %w", c.Name, round+1, rounds, err)
			}
			got[i] = append(got[i], v)
		}
	}
	return got, nil
}

// Column takes one value out of each of a contestant's rounds.
func Column[T any](rounds []T, value func(T) float64) []float64 {
	column := make([]float64, len(rounds))
	for i, r := range rounds {
		column[i] = value(r)
	}
	return column
}
