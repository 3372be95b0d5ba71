//go:build !race

package resp_test

// raceDetector is whether the race detector watches.
const raceDetector = false
