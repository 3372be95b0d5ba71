package grant_test

import (
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// What is known to be issued from a worker ID is the most that was ever noted, in whatever order.
func TestIssuedIsTheMost(t *testing.T) {
	s := newFixture(t).host("A").boot().Issued
	s.Note(1, 0, 20)
	s.Note(1, 0, 10)
	s.Note(2, 30, 30)
	for worker, want := range []generator.Tick{0, 20, 0} {
		if got := s.To(worker); got != want {
			t.Errorf("worker ID %d is known to be issued from up to %d, want %d", worker, got, want)
		}
	}
}
