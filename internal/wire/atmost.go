package wire

import (
	"strconv"
	"strings"
)

// AtMost reads the refusal of a count that cannot be had in time: the largest one that can, at least
// 1, and whether that is so now and not always.
func AtMost(r Refused) (largest int64, now, ok bool) {
	_, rest, _ := strings.Cut(string(r), " IDs cannot be had within ")
	_, rest, found := strings.Cut(rest, ": at most ")
	digits, rest, _ := strings.Cut(rest, " can")
	n, err := strconv.ParseInt(digits, 10, 32)
	if !found || err != nil || n < 1 {
		return 0, false, false
	}
	return n, strings.HasPrefix(rest, " now"), true
}
