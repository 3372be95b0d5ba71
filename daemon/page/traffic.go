package page

import "time"

// trafficView is rate and latency of the last 15 minutes.
type trafficView struct {
	Rate, Requests, Median, Slowest string // of the last second, and of the last cell
	RatePath, RateFill, Top         string
	MedianPath, SlowestPath         string
	Refused                         uint64
	Minutes                         []minuteView // the newest first
}

type minuteView struct {
	Ago                             int
	Rate, Requests, Median, Slowest string
	Refused                         uint64
}

// ofAMinute is how many cells a minute has.
const ofAMinute = int(time.Minute/sampleEvery) / samplesOfACell

func trafficOf(list []cell, last cell) trafficView {
	v := trafficView{Rate: number(last.rate(last.ids)), Requests: number(last.rate(last.requests)), Median: "–", Slowest: "–"}
	var rates, medians, slowest []float64
	highest := 0.
	for _, c := range list {
		highest = max(highest, c.rate(c.ids))
		v.Refused += c.refused
	}
	end := top(highest)
	for _, c := range list {
		rates = append(rates, c.rate(c.ids)/end)
		medians, slowest = append(medians, decades(c.median)), append(slowest, decades(c.slowest))
	}
	v.Top = number(end)
	v.RatePath, v.RateFill = path(rates, false), path(rates, true)
	v.MedianPath, v.SlowestPath = path(medians, false), path(slowest, false)
	if len(list) > 0 {
		newest := list[len(list)-1]
		v.Median, v.Slowest = span(newest.median), span(newest.slowest)
	}
	for end := len(list); end > 0; end -= ofAMinute {
		v.Minutes = append(v.Minutes, minuteOf(len(v.Minutes), list[max(0, end-ofAMinute):end]))
	}
	return v
}

// minuteOf sums cells up. Of the latencies, it has the highest.
func minuteOf(ago int, list []cell) minuteView {
	var sum cell
	for _, c := range list {
		sum.passed += c.passed
		sum.ids += c.ids
		sum.requests += c.requests
		sum.refused += c.refused
		sum.median, sum.slowest = max(sum.median, c.median), max(sum.slowest, c.slowest)
	}
	return minuteView{
		Ago: ago, Rate: number(sum.rate(sum.ids)), Requests: number(sum.rate(sum.requests)), Refused: sum.refused,
		Median: span(sum.median), Slowest: span(sum.slowest),
	}
}
