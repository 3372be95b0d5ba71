//go:build e2e

package drills

import (
	"fmt"
	"testing"
)

// FuzzDrops: what is taken for the counts of dropped packets is what a heal prints.
func FuzzDrops(f *testing.F) {
	for _, text := range []string{"in 1 out 2\n", "in 0 out 0", "in 01 out 2\n", "in 18446744073709551616 out 1\n", "in 1 out 2\nin 3 out 4\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDrops(text)
		if err != nil && d != (drops{}) || err == nil && text != fmt.Sprintf("in %d out %d\n", d.in, d.out) {
			t.Errorf("%q is %+v, %v", text, d, err)
		}
	})
}
