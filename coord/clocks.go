package coord

import "time"

// ServerClock is what the clock of one of the coordinator's servers shows.
type ServerClock struct {
	// Server names the server, for people to read.
	Server string
	// Time is what its clock shows when Clocks returns.
	Time time.Time
	// Error is how far off Time may be, either way: half of the unit in which the server tells
	// the time, and half of what the exchange took.
	Error time.Duration
	// Err, if not nil, is why the server did not tell. Time and Error are zero then.
	Err error
}
