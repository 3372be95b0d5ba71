//go:build !race

package cluster

// raceDetector is whether the race detector watches, under which all takes ten times as long.
const raceDetector = false
