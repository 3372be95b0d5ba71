package form

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseDecimal reads what strconv.AppendInt writes of a number from 0 to math.MaxInt64.
func parseDecimal(text string) (int64, error) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" {
		return 0, errors.New("it has no digits")
	}
	if rest := strings.TrimLeft(digits, "0123456789"); rest != "" {
		return 0, fmt.Errorf("it has %q, and its characters are 0-9", string([]rune(rest)[:1]))
	}
	if digits != text {
		return 0, errors.New("it is negative, and an ID never is: was it read as a signed number of fewer bits?")
	}
	if digits[0] == '0' && len(digits) > 1 {
		return 0, errors.New("it begins with a zero too many")
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errTooLarge
	}
	return id, nil
}

var errTooLarge = fmt.Errorf("it is above %d, the largest number of 63 bits", int64(math.MaxInt64))
