//go:build race

package issue_test

// raceDetector is whether the race detector watches, under which all takes twenty times as long.
const raceDetector = true
