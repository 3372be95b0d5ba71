// Package fault is where drills reach into the program: the names of the variables that they set,
// and Hold, Point and Synced, the calls in the product's code. All else that a drill changes is
// handed to the daemon from outside, by package inject: the clock, and the recorder.
//
// Without the build tag drill, they are empty, and the program does not have package inject.
package fault

// The environment variables of a drill build. Each does nothing where it is not set.
const (
	// Clock is the path of a file with the offset of the wall clock.
	Clock = "FLAKEWARD_DRILL_CLOCK"
	// FUSE lets a directory lie on FUSE, if it says anything.
	FUSE = "FLAKEWARD_DRILL_FUSE"
	// Evidence is the directory for the logs of what the daemon does.
	Evidence = "FLAKEWARD_DRILL_EVIDENCE"
	// Records is the path of a file for the records that a directory has synced: see Synced.
	Records = "FLAKEWARD_DRILL_RECORDS"
	// HoldTakes is which Takes are held, and for how long, such as 100/50ms.
	HoldTakes = "FLAKEWARD_DRILL_HOLD_TAKES"
	// StopAt is the path of a file with the step of a takeover at which a process stops: see Point.
	StopAt = "FLAKEWARD_DRILL_STOP_AT"
)
