package grant_test

import (
	"testing"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// What is known to be issued from a worker ID is the most that was ever noted, of each entry of a
// journal, in whatever order.
func TestIssuedIsTheMost(t *testing.T) {
	s := newFixture(t).host("A").boot().Issued
	s.Note(1, 0, 20)
	s.Note(1, 0, 10)
	s.NoteAll(journal.Contents{Entries: []journal.Entry{{Worker: 1, Mark: 15}, {Worker: 2, Mark: 30, Left: true}, {Worker: 3, Mark: 5}}})
	s.Note(3, 0, 7)
	for worker, want := range []generator.Tick{0, 20, 30, 7} {
		if got := s.To(worker); got != want {
			t.Errorf("worker ID %d is known to be issued from up to %d, want %d", worker, got, want)
		}
	}
}
