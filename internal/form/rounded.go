package form

import (
	"math"
	"strconv"
)

// Rounded is what to say beside an ID that may be rounded.
const Rounded = "the digits are those of a floating-point number, to which JavaScript and others round IDs; some IDs look so by themselves. " +
	"If the ID was rounded, its time is right and its sequence number, or worker ID, is wrong: read IDs as strings in the program that it comes from"

// firstRounded is the lowest integer that a double may have been rounded to.
const firstRounded = 1 << 53

// MayBeRounded reports whether a text is the decimal digits of an ID as they are after the ID was a
// double: the exact value of one, as most languages print it, or the shortest digits that are read
// as that double, as JavaScript does. Of the IDs of 57 bits, one in nine looks so by itself; of
// those of 61 bits, one in 130.
func MayBeRounded(text string) bool {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < firstRounded {
		return false
	}
	double := float64(id)
	exact := double < math.MaxInt64 && int64(double) == id // 2^63 is no int64
	return exact || strconv.FormatFloat(double, 'f', -1, 64) == text
}
