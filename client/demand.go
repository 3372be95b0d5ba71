package client

import "time"

// demand measures how many IDs are used, and says how many to ask for. The zero value has seen
// nothing.
type demand struct {
	handed int64     // in all, at the last request
	asked  time.Time // when that was sent
	trip   time.Duration

	// Between the last requests, each counting three quarters of the one after it. The last alone
	// would not do: at the layout's ceiling replies come with the ticks, and what is used between
	// two of them swings between half and twice of what it is on average.
	used    float64
	elapsed float64 // nanoseconds
}

// past is what the requests before the last count.
const past = 0.75

// size is how many IDs to ask for at a time now, when handed were handed out in all: what would be
// used within half of maxAge if it went on as since the last request, at most twice of what has
// been used since, and at most most. Below 2 nothing should be kept in stock.
//
// It takes the other half for the request itself, and for numbers that wait behind others. That it
// only doubles makes it seventeen requests, half a millisecond, until a client with a sudden
// demand has the largest runs, and keeps what two calls in a row leave unused at three.
func (d *demand) size(handed int64, now time.Time, maxAge time.Duration, most int64) int64 {
	used, elapsed := d.since(handed, now)
	return min(int64(used/elapsed*float64(maxAge)/2+0.5), 2*(handed-d.handed), most)
}

func (d *demand) since(handed int64, now time.Time) (used, elapsed float64) {
	if d.asked.IsZero() {
		return 0, 1
	}
	return d.used*past + float64(handed-d.handed), d.elapsed*past + float64(max(now.Sub(d.asked), 1))
}

// sent notes that a request goes out.
func (d *demand) sent(handed int64, now time.Time) {
	d.used, d.elapsed = d.since(handed, now)
	d.handed, d.asked = handed, now
}

// answered notes how long a request took. The longest of the last ones counts.
func (d *demand) answered(took time.Duration) { d.trip = max(took, d.trip-d.trip/8) }

// lead is how many IDs of n should be left when more are asked for, so that those come before they
// are needed: what is used in the time of two requests, at most half. 0: when the last one is
// taken.
func (d *demand) lead(n int64) int64 {
	return min(int64(d.used/max(d.elapsed, 1)*float64(2*d.trip)), n/2)
}
