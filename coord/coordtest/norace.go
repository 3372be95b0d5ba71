//go:build !race

package coordtest

const raceDetector = false
