package main

import "testing"

func TestOutOfTime(t *testing.T) {
	for _, c := range []struct {
		said string
		want bool
	}{
		{"fuzz: elapsed: 3s, execs: 40304 (0/sec), new interesting: 104 (total: 108)\n--- FAIL: FuzzX (3.20s)\n    context deadline exceeded\nFAIL\n", true},
		{"--- FAIL: FuzzX (3.20s)\n    context deadline exceeded\n", true},
		{"PASS\n", false},
		{"", false},
		{"--- FAIL: FuzzX (0.10s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:5: context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzX/1\nFAIL\n", false},
		{"--- FAIL: FuzzX (0.10s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\nFAIL\n", false},
		{"--- FAIL: FuzzX (0.10s)\n    context deadline exceeded\n    and more\nFAIL\n", false},
	} {
		if got := outOfTime(c.said); got != c.want {
			t.Errorf("%q: %v, want %v", c.said, got, c.want)
		}
	}
}
