package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/bench/redisbench"
	"github.com/flakeward/flakeward/bench/report"
)

// formed are the forms that are measured next to integers, and the part of their rate that each is
// to have.
var formed = []struct {
	name   string
	target float64
}{{"string", 0.95}, {"base62", 0.95}, {"uuid", 0.85}}

const (
	formGroup = "Single IDs over the socket in other forms, next to integers"
	askGroup  = "The same, with the form in each request (AS)"
)

// measureForms compares daemons that write IDs in a form, by --form, with one that writes integers;
// and requests for that form, by AS, with those for none. All are measured in turn.
func measureForms(ctx context.Context, s setting) (found report.Findings, err error) {
	integers, err := enter(ctx, s, ours)
	if err != nil {
		return found, err
	}
	defer integers.server.Kill()
	all := []contestant{integers}
	for _, f := range formed {
		p := oursWith("--form", f.name)
		p.name = f.name
		c, err := enter(ctx, s, p)
		if err != nil {
			return found, err
		}
		defer c.server.Kill()
		asked := integers
		asked.name, asked.command = "AS "+f.name, []string{"NEXT", "AS", f.name}
		all = append(all, c, asked)
	}
	length := s.length(time.Second)
	var written, asked []report.Figure
	for _, shape := range []shape{{50, 1}, {50, 16}} {
		got, err := inRounds(ctx, redisbench.Load{Clients: shape.clients, Pipeline: shape.pipeline}, s.rounds(fullRounds, 2), length, all...)
		if err != nil {
			return found, fmt.Errorf("%v: %w", shape, err)
		}
		for i, f := range formed {
			what := shape.String() + ", " + f.name
			written = append(written, versus(formGroup, what, report.Rate, got[1+2*i], "integers", got[0], rateOf).RatioAtLeast(f.target))
			asked = append(asked, versus(askGroup, what, report.Rate, got[2+2*i], "integers", got[0], rateOf))
		}
	}
	found.Figures = append(written, asked...)
	return found, nil
}
