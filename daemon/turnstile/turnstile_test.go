package turnstile_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/flakeward/flakeward/daemon/turnstile"
)

// A user of whom many wait has one of them before another user's, and one whose context ends waits
// no more.
func TestAUserWaitsForOneOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := turnstile.New()
		leave := s.Enter(t.Context(), 0)
		gone, end := context.WithCancel(t.Context())
		var passed []int
		ask := func(ctx context.Context, user int) {
			go func() {
				if leave := s.Enter(ctx, user); leave != nil {
					passed = append(passed, user)
					leave()
				}
			}()
			synctest.Wait()
		}
		for range 100 {
			ask(t.Context(), 1)
		}
		ask(gone, 2)
		for user := range 10 { // of whom some may share a queue with user 1
			ask(t.Context(), 3+user)
		}
		end()
		synctest.Wait()
		leave()
		synctest.Wait()
		others := 0
		for _, user := range passed[:12] {
			if user != 1 {
				others++
			}
		}
		if len(passed) != 110 || others < 5 {
			t.Errorf("%d passed; of ten others %d were among the first twelve", len(passed), others)
		}
	})
}
