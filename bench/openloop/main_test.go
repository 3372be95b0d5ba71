package main

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/bench/pace"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args    []string
		request []string
		runs    bool
	}{
		{[]string{"-socket", "s"}, []string{"NEXT"}, false},
		{[]string{"-socket", "s", "-command", "INCR k"}, []string{"INCR", "k"}, false},
		{[]string{"-socket", "s", "run", "100"}, []string{"run", "100"}, true},
	} {
		l, asJSON, err := parse(c.args, io.Discard)
		if err != nil || asJSON || !slices.Equal(l.Request, c.request) || l.Runs != c.runs {
			t.Errorf("%q: %+v, %v, %v", c.args, l, asJSON, err)
		}
		if l.Rate != 50000 || l.Connections != 50 || l.Length != 10*time.Second || l.Spin != pace.DefaultSpin {
			t.Errorf("%q: %+v are not the defaults", c.args, l)
		}
	}
	for _, args := range [][]string{{}, {"-socket", "s", "-rate", "0"}, {"-socket", "s", "-command", " "}, {"-fast"}} {
		if l, _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q is taken: %+v", args, l)
		}
	}
}
