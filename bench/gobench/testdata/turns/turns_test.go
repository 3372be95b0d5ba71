// Package turns has benchmarks that say when it was their turn, for the test of what runs them.
package turns

import (
	"os"
	"testing"
)

func BenchmarkA(b *testing.B) { turn(b) }

func BenchmarkB(b *testing.B) { turn(b) }

// turn reports how many benchmarks had their turn before this one, by the length of a file that it makes one byte longer.
func turn(b *testing.B) {
	if b.N > 1 {
		return
	}
	f, err := os.OpenFile(os.Getenv("FLAKEWARD_TEST_TURNS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	at, err := f.Seek(0, 2)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := f.Write([]byte{'x'}); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(at), "turn")
}
