package main

import (
	"fmt"
	"testing"
)

// FuzzAnswers: the counts that are read from INFO are those that it holds.
func FuzzAnswers(f *testing.F) {
	const form = "# Guard\r\nanswered_sleep:%d\r\nanswered_ring:%d\r\nanswered_release:%d\r\nanswered_backfill:%d\r\nanswered_wait:%d\r\n"
	f.Add(fmt.Sprintf(form, 1, 2, 3, 4, 5), uint64(6))
	f.Add("answered_sleep:-1\n", uint64(1<<64-1))
	f.Fuzz(func(t *testing.T, text string, n uint64) {
		if a, err := parseAnswers(fmt.Sprintf(form, n, 2, n/3, 4, n/5)); err != nil || a != (answers{Sleep: n, Ring: 2, ReLease: n / 3, Backfill: 4, Wait: n / 5}) {
			t.Errorf("of %d it reads %+v, %v", n, a, err)
		}
		a, err := parseAnswers(text)
		if err != nil {
			return
		}
		again, err := parseAnswers(fmt.Sprintf(form, a.Sleep, a.Ring, a.ReLease, a.Backfill, a.Wait))
		if err != nil || again != a {
			t.Errorf("%q is %+v, and that %+v, %v", text, a, again, err)
		}
	})
}
