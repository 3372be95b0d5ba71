package issue

import (
	"fmt"
	"strconv"
	"strings"
)

// Rate is how many IDs each user may take: so many a second, and up to Burst at once after it has
// taken fewer, or what comes in a hundredth of a second if that is more. The zero value is no
// limit.
type Rate struct {
	PerSecond int
	Burst     int
}

// limited reports whether it is a limit.
func (r Rate) limited() bool { return r.PerSecond > 0 }

// String returns the rate as ParseRate reads it; "none" without a limit.
func (r Rate) String() string {
	if !r.limited() {
		return "none"
	}
	return fmt.Sprintf("%d/s+%d", r.PerSecond, r.Burst)
}

// highestRate is above what any lane has.
const highestRate = 1e9

// ParseRate reads N/s or N/s+BURST, or "none" or nothing for no limit. Without a burst it is what
// comes in a second.
func ParseRate(text string) (Rate, error) {
	if text == "" || text == "none" {
		return Rate{}, nil
	}
	perSecond, burst, hasBurst := strings.Cut(text, "+")
	digits, ok := strings.CutSuffix(perSecond, "/s")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || n > highestRate {
		return Rate{}, fmt.Errorf("%q is not a rate: write 100000/s, 100000/s+20000 for a burst of 20000, or none", text)
	}
	r := Rate{n, n}
	if hasBurst {
		if r.Burst, err = strconv.Atoi(burst); err != nil || r.Burst < 1 || r.Burst > highestRate {
			return Rate{}, fmt.Errorf("the burst of %q is not a whole number from 1 to %d", text, int(highestRate))
		}
	}
	return r, nil
}
