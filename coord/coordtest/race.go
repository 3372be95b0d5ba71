//go:build race

package coordtest

// raceDetector is whether the race detector watches, which takes several times as
// long, and more on some machines.
const raceDetector = true
