//go:build e2e

package drills

import (
	"fmt"
	"maps"
	"testing"

	"github.com/flakeward/flakeward/internal/info"
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

// FuzzAnswers: the counts that are read from INFO are those that it holds.
func FuzzAnswers(f *testing.F) {
	const form = "# Guard\r\nanswered_sleep:%d\r\nanswered_ring:%d\r\nanswered_release:%d\r\nanswered_backfill:%d\r\nanswered_wait:%d\r\n"
	read := func(text string) (answers, error) { return parseAnswers(info.Parse(text).Map()) }
	f.Add(fmt.Sprintf(form, 1, 2, 3, 4, 5), uint64(6))
	f.Add("answered_sleep:-1\n", uint64(1<<64-1))
	f.Fuzz(func(t *testing.T, text string, n uint64) {
		want := answers{"sleep": n, "ring": 2, "release": n / 3, "backfill": 4, "wait": n / 5}
		if a, err := read(fmt.Sprintf(form, n, 2, n/3, 4, n/5)); err != nil || !maps.Equal(a, want) {
			t.Errorf("of %d it reads %v, %v", n, a, err)
		}
		if a, err := read("answered_sleep:1\r\n"); err == nil {
			t.Errorf("of one count it reads %v", a)
		}
		a, err := read(text)
		if err != nil {
			return
		}
		again, err := read(fmt.Sprintf(form, a["sleep"], a["ring"], a["release"], a["backfill"], a["wait"]))
		if err != nil || !maps.Equal(again, a) {
			t.Errorf("%q is %v, and that %v, %v", text, a, again, err)
		}
	})
}
