package coordtest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
)

// Close closes a coordinator whose servers answer, and fails the test for what Close reports. A
// server on a busy machine may answer after Close has given up. Then the session ends with its
// timeout, and Close returns false: the claims of the coordinator may live that long.
func Close(t testing.TB, c io.Closer) (inTime bool) {
	t.Helper()
	err := c.Close()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		t.Logf("Close: %v", err)
		return false
	case err != nil:
		t.Errorf("Close: %v", err)
	}
	return true
}

// closeTries is how often a test closes a coordinator that no server answers in time.
const closeTries = 5

// CloseInTime makes coordinators, each with a claim, and closes them until a server has answered
// one of them in time. The test fails if none does.
func CloseInTime(t testing.TB, start func() (coord.Coordinator, coord.Claim)) (coord.Coordinator, coord.Claim) {
	t.Helper()
	for range closeTries {
		if c, claim := start(); Close(t, c) {
			return c, claim
		}
	}
	t.Fatalf("no server has answered %d coordinators that were closed", closeTries)
	return nil, nil
}

// gone waits until nobody has a claim on the worker ID.
func (k *kit) gone(observer *node, worker int) {
	k.Helper()
	for {
		if _, held := observer.member(worker); !held {
			return
		}
		if (clockguard.System{}).Sleep(k.Context(), 10*time.Millisecond) != nil {
			k.Fatalf("worker ID %d is held until the test ends", worker)
		}
	}
}
