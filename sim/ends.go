package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/flakeward/flakeward/sim/simulation"
)

// wantedEnds are how requests to the coordinator end in many seeds, and which function of the
// daemon learns of it. Each came at least three times in 60 seeds. One that never comes has left
// the program, or is no longer tried: nothing would judge how it is handled.
var wantedEnds = []struct {
	what, place string
	hows        []string
}{
	{"create a claim", "grant.(*Holder).claim", []string{simulation.Answered, simulation.Unheard, simulation.Unknown, simulation.Landed}},
	{"delete a claim", "grant.(*Holder).claim", []string{simulation.Answered, simulation.Refusal, simulation.Unheard, simulation.Unknown, simulation.Landed}},
	{"delete a claim", "grant.(*Holder).extend", []string{simulation.Answered}},
	{"end the session", "lifecycle.(*Lifecycle).Leave", []string{simulation.Answered, simulation.Unheard, simulation.Unknown}},
	{"extend a grant", "grant.(*Holder).extend", []string{simulation.Answered, simulation.Unheard, simulation.Unknown, simulation.Landed}},
	{"list the claims", "grant.(*Holder).claim", []string{simulation.Answered, simulation.Unheard, simulation.Unknown, simulation.Landed}},
	{"list the claims", "grant.(*Holder).extend", []string{simulation.Answered}},
	{"list the claims", "lifecycle.(*Lifecycle).evidence", []string{simulation.Answered, simulation.Unheard}},
	{"list the records", "grant.(*Holder).claim", []string{simulation.Answered}},
	{"look for the layout", "grant.(*Holder).extend", []string{simulation.Answered}},
	{"look for the layout", "lifecycle.(*Lifecycle).try", []string{simulation.Answered, simulation.Unheard}},
	{"open a record", "grant.(*Holder).claim", []string{simulation.Answered, simulation.Unheard, simulation.Landed}},
	{"open a session", "grant.(*Holder).claim", []string{simulation.Answered, simulation.Landed}},
	{"read the host's worker ID", "grant.(*Holder).claim", []string{simulation.Answered, simulation.Unheard, simulation.Unknown}},
	{"read what was claimed", "grant.(*Holder).claim", []string{simulation.Answered}},
	{"release a worker ID", "grant.(*Holder).giveBack", []string{simulation.Answered}},
	{"release a worker ID", "grant.(*Holder).Shut", []string{simulation.Answered, simulation.Refusal}},
	{"take a number", "grant.(*Holder).claim", []string{simulation.Answered}},
}

// endings says how many ends there were, and is an error if many seeds leave out a wanted one.
func endings(stdout io.Writer, done uint64, ends simulation.Ends) error {
	fmt.Fprintf(stdout, "%d ends of requests, by what, where and how\n", len(ends))
	if done < enoughSeeds {
		return nil
	}
	var missing []string
	for _, w := range wantedEnds {
		for _, how := range w.hows {
			if ends[simulation.End{What: w.what, How: how, Place: w.place}] == 0 {
				missing = append(missing, w.what+" for "+w.place+": "+how)
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: never in %d seeds:\n  %s", errTooFew, done, strings.Join(missing, "\n  "))
	}
	return nil
}
