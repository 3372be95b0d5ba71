package issue

import (
	"fmt"
	"strconv"
	"strings"
)

// Rate is how many IDs a user may take: so many a second, and up to Burst at once after it has taken
// fewer, or what comes in a hundredth of a second if that is more. The zero value is no limit.
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

// Rates are the rate of each user, and those that are different for some UIDs.
type Rates struct {
	Each  Rate
	ByUID map[uint32]Rate
}

// limited reports whether anybody is limited.
func (r Rates) limited() bool {
	for _, of := range r.ByUID {
		if of.limited() {
			return true
		}
	}
	return r.Each.limited()
}

// of returns the rate of a UID.
func (r Rates) of(uid uint32) Rate {
	if rate, ok := r.ByUID[uid]; ok {
		return rate
	}
	return r.Each
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

// ParseRates reads the rate of each user and those by UID, as in 1000=5000/s,1001=none.
func ParseRates(each, byUID string) (rates Rates, err error) {
	if rates.Each, err = ParseRate(each); err != nil || byUID == "" {
		return rates, err
	}
	rates.ByUID = make(map[uint32]Rate)
	for _, part := range strings.Split(byUID, ",") {
		digits, text, ok := strings.Cut(strings.TrimSpace(part), "=")
		uid, err := strconv.ParseUint(digits, 10, 32)
		if !ok || err != nil {
			return Rates{}, fmt.Errorf("%q is not a UID and its rate: write 1000=5000/s", part)
		}
		if _, twice := rates.ByUID[uint32(uid)]; twice {
			return Rates{}, fmt.Errorf("the UID %d has two rates: remove one", uid)
		}
		if rates.ByUID[uint32(uid)], err = ParseRate(text); err != nil {
			return Rates{}, err
		}
	}
	return rates, nil
}
