package main

import (
	"context"
	"fmt"
)

// inTurn is measured once in each round.
type inTurn[T any] struct {
	name    string
	measure func(context.Context) (T, error)
}

// interleave measures A B C A B C and so on, in the order given, so that whatever slows the machine
// down for a while slows all of them, and returns what came of each: [contestant][round]. It ends with
// the first error, which names the contestant and its round, or with ctx.
func interleave[T any](ctx context.Context, rounds int, contestants ...inTurn[T]) ([][]T, error) {
	got := make([][]T, len(contestants))
	for round := range rounds {
		for i, c := range contestants {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v, err := c.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, round %d of %d: %w", c.name, round+1, rounds, err)
			}
			got[i] = append(got[i], v)
		}
	}
	return got, nil
}

// column takes one value out of each of a contestant's rounds.
func column[T any](rounds []T, value func(T) float64) []float64 {
	all := make([]float64, len(rounds))
	for i, r := range rounds {
		all[i] = value(r)
	}
	return all
}
