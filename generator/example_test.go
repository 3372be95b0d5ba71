package generator_test

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/generator"
)

func ExampleParseLayout() {
	layout, err := generator.ParseLayout("js53")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout)
	fmt.Println(layout.Workers(), "worker IDs, ticks of", layout.TickLength())
	fmt.Println("ends", layout.End().Format(time.DateOnly))

	_, err = generator.ParseLayout("time=41@1ms,worker=10;epoch=2026-01-01")
	fmt.Println(err)
	// Output:
	// time=38@10ms,worker=7,sequence=8;epoch=2026-01-01T00:00:00Z
	// 128 worker IDs, ticks of 10ms
	// ends 2113-02-08
	// layout "time=41@1ms,worker=10;epoch=2026-01-01": field sequence is missing: time, worker and sequence are required
}

func ExampleLayout_Decompose() {
	twitter, err := generator.ParseLayout("twitter")
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := twitter.Decompose(1541815603606036480)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(parts.Time.Format(time.RFC3339Nano), parts.Datacenter, parts.Worker, parts.Sequence)

	id, err := twitter.Compose(parts)
	fmt.Println(id, err)
	// Output:
	// 2022-06-28T16:07:40.105Z 11 26 0
	// 1541815603606036480 <nil>
}

// The bounds of a day serve a range scan: WHERE id >= first AND id < below.
func ExampleLayout_Bounds() {
	layout, err := generator.ParseLayout("flakeward")
	if err != nil {
		fmt.Println(err)
		return
	}
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	first, below, err := layout.Bounds(day, day.AddDate(0, 0, 1))
	fmt.Println(first, below, err)
	// Output:
	// 117413668454400000 117776056320000000 <nil>
}

// A lane issues within (floor, ceiling]. Whoever owns it has to know that nobody else issues there.
func ExampleLane_Take() {
	layout, err := generator.ParseLayout("flakeward")
	if err != nil {
		fmt.Println(err)
		return
	}
	lane, err := generator.NewLane(layout, 0, 7, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	lane.Raise(2000)

	run, outcome := lane.Take(0, 1500, 5000)
	fmt.Println(outcome, run.N, "from", run.First)
	_, outcome = lane.Take(0, 1500, 1)
	fmt.Println(outcome)
	_, outcome = lane.Take(0, 1000, 1)
	fmt.Println(outcome)
	_, outcome = lane.Take(0, 2001, 1)
	fmt.Println(outcome)
	fmt.Println("the last tick is", lane.Close().Or(0))
	// Output:
	// issued 4096 from 6291484672
	// full
	// below floor
	// above ceiling
	// the last tick is 1500
}
