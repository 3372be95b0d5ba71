package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/internal/wire"
)

// The text is the one that the daemon makes.
func TestReasonOfUnavailable(t *testing.T) {
	for _, e := range []issue.UnavailableError{
		{Reason: errors.New("the clock is behind; gave up after all, another day")},
		{Reason: errors.New("no worker"), After: 2 * time.Second},
		{Reason: errors.New("no worker"), For: 5 * time.Millisecond},
		{Reason: errors.New("no worker, another"), After: 1500 * time.Millisecond, For: time.Hour},
	} {
		want := client.UnavailableError{Reason: e.Reason.Error(), After: e.After, Another: e.For}
		if got := *client.Unavailable(e.Error()); got != want {
			t.Errorf("%q is taken for %+v", e.Error(), got)
		}
	}
	if got := *client.Unavailable("nothing; gave up after 2s"); got != (client.UnavailableError{Reason: "nothing; gave up after 2s"}) {
		t.Errorf("%+v", got)
	}
}

// The text is the one that the daemon makes.
func TestWhatCanBeHad(t *testing.T) {
	for _, c := range []struct {
		e       issue.TooManyError
		largest int64
		now, ok bool
	}{
		{issue.TooManyError{Count: 65536, Within: 2 * time.Second, Largest: 44576}, 44576, false, true},
		{issue.TooManyError{Count: 65536, Within: 2 * time.Second, Largest: 64, After: 400 * time.Millisecond}, 64, true, true},
		{issue.TooManyError{Count: 65536, Within: 2 * time.Second, After: time.Second}, 0, false, false},
	} {
		largest, now, ok := wire.AtMost(wire.Refused("UNAVAILABLE " + c.e.Error()))
		if largest != c.largest || now != c.now || ok != c.ok {
			t.Errorf("%q is taken for %d, %v, %v", c.e.Error(), largest, now, ok)
		}
	}
	if _, _, ok := wire.AtMost("UNAVAILABLE the grant is used up; try again later"); ok {
		t.Error("another refusal is taken for one of a count")
	}
}
