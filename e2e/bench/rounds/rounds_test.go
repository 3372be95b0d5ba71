package rounds_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/e2e/bench/rounds"
)

// contestant notes when it is measured, and measures 1, 2, 3 and so on times a factor.
func contestant(name string, factor int, order *[]string) rounds.Contestant[int] {
	n := 0
	return rounds.Contestant[int]{Name: name, Measure: func(context.Context) (int, error) {
		*order = append(*order, name)
		n++
		return n * factor, nil
	}}
}

func TestInterleave(t *testing.T) {
	var order []string
	got, err := rounds.Interleave(t.Context(), 3, contestant("a", 1, &order), contestant("b", 10, &order), contestant("c", 100, &order))
	if want := [][]int{{1, 2, 3}, {10, 20, 30}, {100, 200, 300}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if want := strings.Split("abcabcabc", ""); !slices.Equal(order, want) {
		t.Errorf("measured %v, want %v", order, want)
	}
}

func TestInterleaveEndsWithTheFirstError(t *testing.T) {
	var order []string
	broken := errors.New("broken")
	n := 0
	b := rounds.Contestant[int]{Name: "b", Measure: func(context.Context) (int, error) {
		if n++; n == 2 {
			return 0, broken
		}
		return n, nil
	}}
	got, err := rounds.Interleave(t.Context(), 5, contestant("a", 1, &order), b)
	if got != nil || !errors.Is(err, broken) || !strings.Contains(err.Error(), "b, round 2 of 5") || len(order) != 2 {
		t.Errorf("%v, %v, after %v", got, err, order)
	}
}

func TestInterleaveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var order []string
	stop := rounds.Contestant[int]{Name: "b", Measure: func(context.Context) (int, error) { cancel(); return 0, nil }}
	if got, err := rounds.Interleave(ctx, 5, contestant("a", 1, &order), stop, contestant("c", 1, &order)); got != nil || !errors.Is(err, context.Canceled) || !slices.Equal(order, []string{"a"}) {
		t.Errorf("%v, %v, after %v", got, err, order)
	}
}

func TestColumn(t *testing.T) {
	type pair struct{ a, b float64 }
	if got := rounds.Column([]pair{{1, 10}, {2, 20}}, func(p pair) float64 { return p.b }); !slices.Equal(got, []float64{10, 20}) {
		t.Errorf("%v", got)
	}
}
