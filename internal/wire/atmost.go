package wire

import (
	"regexp"
	"strconv"
)

var atMost = regexp.MustCompile(` IDs cannot be had within .*: at most ([0-9]+) can( now)?`)

// AtMost reads the refusal of a count that cannot be had in time: the largest one that can, at
// least 1, and whether that is so now and not always.
func AtMost(r Refused) (largest int64, now, ok bool) {
	found := atMost.FindStringSubmatch(string(r))
	if found == nil {
		return 0, false, false
	}
	largest, err := strconv.ParseInt(found[1], 10, 32)
	if err != nil || largest < 1 {
		return 0, false, false
	}
	return largest, found[2] != "", true
}
