package issue

import "slices"

// WaitFor is what a request waits for.
type WaitFor uint8

// What requests wait for.
const (
	WaitLane      WaitFor = iota // a worker ID
	WaitCeiling                  // a longer grant
	WaitExhausted                // numbers: the tick has none left
	WaitClock                    // the clock, to come to the last ID
	WaitFloor                    // the clock, to come to the floor
	WaitOrder                    // the next tick, for the connection's order
	waits
)

var waitNames = [waits]string{"lane", "ceiling", "tick", "clock", "floor", "order"}

// String returns its name in lower case. It stays.
func (w WaitFor) String() string { return waitNames[w] }

// WaitsFor has all of them.
func WaitsFor() (all []WaitFor) {
	for w := range waits {
		all = append(all, w)
	}
	return all
}

// reasons are why requests wait for each.
var reasons = [waits]error{
	WaitLane: ErrNoLane, WaitCeiling: ErrCeiling, WaitExhausted: ErrExhausted, WaitClock: ErrClock, WaitFloor: ErrFloor, WaitOrder: ErrOrder,
}

// waitFor returns what a request waits for, by its reason.
func waitFor(reason error) WaitFor { return WaitFor(max(0, slices.Index(reasons[:], reason))) }

// Waits returns how many requests to i had to wait first for that. One that waits for something
// else then is not counted again.
func Waits(i *Issuer, w WaitFor) uint64 { return i.waits[w].Load() }
