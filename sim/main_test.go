package main

import (
	"bytes"
	"errors"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/sim/simulation"
)

func TestManySeeds(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-n", "4", "-p", "2", "-again", "3"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	want := regexp.MustCompile(`\n4 seeds, one of 3 twice with the same trace, and no violation: 0\.1 hours of a cluster in .*; at least \d\d faults in each, \d+ of clocks\n$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("it ends otherwise:\n%s", &out)
	}
}

func TestSeedsThatShowTooLittle(t *testing.T) {
	right := simulation.Counts{Faults: 20, OfClocks: 5, IDs: 1, Served: 1}
	all := simulation.Counts{Again: 250, Released: 250, Handovers: 250, Unordered: 250, Drawn: 250, Rolled: 250}
	for name, c := range map[string]struct {
		done  uint64
		spoil func(total, least *simulation.Counts)
		wrong bool
	}{
		"enough":             {1000, func(_, _ *simulation.Counts) {}, false},
		"few faults":         {1000, func(_, least *simulation.Counts) { least.Faults-- }, true},
		"few of clocks":      {1000, func(_, least *simulation.Counts) { least.OfClocks-- }, true},
		"no ID":              {1000, func(_, least *simulation.Counts) { least.IDs = 0 }, true},
		"few served":         {1000, func(_, least *simulation.Counts) { least.Served-- }, true},
		"few made again":     {1000, func(total, _ *simulation.Counts) { total.Again-- }, true},
		"few released":       {1000, func(total, _ *simulation.Counts) { total.Released-- }, true},
		"few handovers":      {1000, func(total, _ *simulation.Counts) { total.Handovers-- }, true},
		"few out of order":   {1000, func(total, _ *simulation.Counts) { total.Unordered-- }, true},
		"few begun above 0":  {1000, func(total, _ *simulation.Counts) { total.Rolled-- }, true},
		"few by bursts":      {1000, func(total, _ *simulation.Counts) { total.Drawn-- }, true},
		"few, but few seeds": {999, func(total, _ *simulation.Counts) { total.Unordered = 0 }, false},
	} {
		total, least := all, right
		c.spoil(&total, &least)
		total.Simulated = 10 * time.Minute
		var out bytes.Buffer
		err := report(&out, c.done, 0, total, time.Second, least)
		if errors.Is(err, errTooFew) != c.wrong || (out.Len() > 0) == c.wrong {
			t.Errorf("%s: %v, %q", name, err, &out)
		}
		if !c.wrong && !strings.Contains(out.String(), "600 times real time, and 1000 are wanted") {
			t.Errorf("slow ones are report of as %q", &out)
		}
	}
	var out bytes.Buffer
	if err := report(&out, 10, 0, simulation.Counts{Simulated: 20 * time.Minute}, time.Second, right); err != nil || strings.Contains(out.String(), "wanted") {
		t.Errorf("fast ones are report of as %q, %v", &out, err)
	}
}

// Many seeds must have each end that is wanted.
func TestEndsThatAreWanted(t *testing.T) {
	all := simulation.Ends{}
	for _, w := range wantedEnds {
		for _, how := range w.hows {
			all[simulation.End{What: w.what, How: how, Place: w.place}] = 1
		}
	}
	for end := range all {
		ends := maps.Clone(all)
		var out bytes.Buffer
		if err := endings(&out, enoughSeeds, ends); err != nil {
			t.Fatal(err)
		}
		delete(ends, end)
		if err := endings(&out, enoughSeeds, ends); !errors.Is(err, errTooFew) || !strings.Contains(err.Error(), end.What+" for "+end.Place+": "+end.How) {
			t.Errorf("without %+v: %v", end, err)
		}
		if err := endings(&out, enoughSeeds-1, ends); err != nil {
			t.Errorf("of few seeds each end is wanted: %v", err)
		}
	}
}
