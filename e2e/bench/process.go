package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/inprocess"
	"github.com/flakeward/flakeward/e2e/bench/report"
)

const (
	selfGenerate = "generate"
	processGroup = "In process, one ID a call"
	// generateWarm is not counted: caches and the Go scheduler settle.
	generateWarm = 50 * time.Millisecond
)

// pairs is what is compared, and how fast ours has to be next to the other.
var pairs = []struct {
	what, ours, theirs string
	atLeast            float64
}{
	{"layout with room", "flakeward, room", "bwmarrin/snowflake, room", 1},
	{"layout with room", "flakeward, room", "sonyflake, room", 1},
	{"at a ceiling of 4,096,000/s", "flakeward, 12 bits", "bwmarrin/snowflake", equal},
	{"at a ceiling of 25,600/s", "flakeward, 8 bits of 10 ms", "sonyflake", equal},
}

// equal is how near two have to be that meet the same ceiling: a tick more or less in a round is
// chance.
const equal = 0.99

// measureProcess compares the generator with libraries, each in a process of its own that does
// nothing else.
func measureProcess(ctx context.Context, s setting) (found report.Findings, err error) {
	for _, g := range inprocess.Generators {
		if g.Module != "" {
			found.Version(g.Module, moduleVersion(g.Module))
		}
	}
	for _, goroutines := range []int{1, 64} {
		got, err := generateAll(ctx, s, goroutines)
		if err != nil {
			return found, err
		}
		found.Figures = append(found.Figures, processFigures(got, goroutines)...)
	}
	return found, nil
}

// generateAll measures all generators in turn, and returns what came of each round by their names.
func generateAll(ctx context.Context, s setting, goroutines int) (map[string][]inprocess.Result, error) {
	var entered []inTurn[inprocess.Result]
	for _, g := range inprocess.Generators {
		entered = append(entered, inTurn[inprocess.Result]{name: g.Name, measure: func(ctx context.Context) (r inprocess.Result, err error) {
			err = outcomeOf(ctx, selfGenerate, generating{g.Name, goroutines, s.length(400 * time.Millisecond)}, &r)
			if err == nil && r.IDs == 0 {
				err = fmt.Errorf("no ID in %v", r.Took)
			}
			return r, err
		}})
	}
	got, err := interleave(ctx, s.rounds(fullRounds, 1), entered...)
	if err != nil {
		return nil, err
	}
	byName := make(map[string][]inprocess.Result)
	for i, g := range inprocess.Generators {
		byName[g.Name] = got[i]
	}
	return byName, nil
}

// processFigures are the pairs: how many IDs each made, and where one meets a ceiling also what an
// ID took of the processors.
func processFigures(got map[string][]inprocess.Result, goroutines int) (figures []report.Figure) {
	for _, p := range pairs {
		a, b := column(got[p.ours], inprocess.Result.Rate), column(got[p.theirs], inprocess.Result.Rate)
		f := report.Figure{
			Group: processGroup, What: p.what + ", " + plural(goroutines, "goroutine"), Unit: report.Rate,
			Ours: a, Peer: p.theirs, Theirs: b,
		}
		figures = append(figures, f.RatioAtLeast(p.atLeast))
		if p.atLeast == equal {
			figures = append(figures, report.Figure{
				Group: processGroup, What: p.what + ", " + plural(goroutines, "goroutine") + ": processor time an ID", Unit: report.Seconds,
				Ours: column(got[p.ours], inprocess.Result.CPUEach), Peer: p.theirs, Theirs: column(got[p.theirs], inprocess.Result.CPUEach),
			})
		}
	}
	return figures
}

// generating is what a generator is told.
type generating struct {
	Name       string
	Goroutines int
	Length     time.Duration
}

// generate is one generator in a process of its own.
func generate(ctx context.Context, what generating, report *json.Encoder) error {
	g, err := inprocess.Find(what.Name)
	if err != nil {
		return err
	}
	r, err := g.Measure(ctx, what.Goroutines, generateWarm, what.Length)
	if err != nil {
		return err
	}
	return report.Encode(r)
}
