package report

import (
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

const second = evidence.Mono(time.Second)

// start is far from 0, as the clock of a machine that has run for a while is.
const start = 5000 * second

// fault is one from one second to another of a drill.
func fault(host, kind string, from, to float64) Fault {
	return Fault{At: start + evidence.Mono(from*1e9), Until: start + evidence.Mono(to*1e9), Host: host, Kind: kind}
}

// oscillating is steps of a clock to and fro.
func oscillating(host string, n int, from, every float64) []Fault {
	var faults []Fault
	for i := range n {
		kind := "clock +200ms"
		if i%2 == 1 {
			kind = "clock -200ms"
		}
		at := from + float64(i)*every
		faults = append(faults, fault(host, kind, at, at))
	}
	return faults
}
