//go:build e2e

package drills

import "testing"

func TestParseDrops(t *testing.T) {
	for text, want := range map[string]drops{
		"in 0 out 0\n":                    {},
		"in 12 out 0\n":                   {in: 12},
		"in 0 out 7\n":                    {out: 7},
		"in 18446744073709551615 out 1\n": {in: 1<<64 - 1, out: 1},
	} {
		if got, err := parseDrops(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "\n", "in 1", "in 1 out 2", "in 1 out 2\n\n", "in 1 out 2 \n", " in 1 out 2\n", "in 01 out 2\n", "in +1 out 2\n", "in -1 out 2\n", "in 1  out 2\n",
		"in 1 out 2\nin 1 out 2\n", "in 18446744073709551616 out 0\n", "out 1 in 2\n", "in 0x1 out 2\n",
	} {
		if got, err := parseDrops(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestCountsAreOfTheLastHeal(t *testing.T) {
	h := &Host{Name: "host-1", cut: &cut{counts: &drops{in: 1, out: 2}}}
	if in, out, err := h.Dropped(); in != 1 || out != 2 || err != nil {
		t.Errorf("%d, %d, %v", in, out, err)
	}
	h.cut.set(true, nil)
	if in, out, err := h.Dropped(); err == nil {
		t.Errorf("%d and %d packets, of a cut that nobody healed", in, out)
	}
}

func TestDroppedOnly(t *testing.T) {
	for _, tt := range []struct {
		counts *drops
		d      Direction
		want   uint64 // 0: an error
	}{
		{&drops{in: 3}, In, 3},
		{&drops{out: 3}, Out, 3},
		{&drops{in: 3}, Out, 0},
		{&drops{out: 3}, In, 0},
		{&drops{in: 3, out: 1}, In, 0},
		{&drops{in: 1, out: 3}, Out, 0},
		{&drops{}, In, 0},
		{&drops{}, Out, 0},
		{nil, In, 0},
	} {
		got, err := droppedOnly(&Host{cut: &cut{counts: tt.counts}}, tt.d)
		if got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%+v, %s: %d, %v", tt.counts, tt.d, got, err)
		}
	}
}
