package audit

import (
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/audit/evidence"
)

// replies goes through the clients' logs: it counts, judges by Rising, and, in a second reading, by
// Skewed.
func (j *court) replies(clocks []*clock, unordered bool) error {
	t := newTimeline(j, clocks)
	for h, s := range j.sites {
		heard := false
		for _, log := range s.clients {
			o := newOrder(j, clocks[h], h)
			err := log.read(func(r evidence.Reply) error {
				heard = true
				if err := j.count(h, r); err != nil {
					return fmt.Errorf("%s: %w", log.name, err)
				}
				if len(r.IDs) == 0 {
					return nil
				}
				return j.rows(r, func(whole bool, run evidence.Run, row row) {
					switch {
					case !whole:
						j.verdict.against(Unique, NoID, uint64(run.N), func() string {
							return fmt.Sprintf("%d, and %d more in steps of %d, received from %s at %s", run.First, run.N-1, run.Step, s.name, j.when(r.Answered))
						})
					default:
						j.excuse(h, &r, row)
						if !unordered {
							o.row(&r, row)
							t.gave(h, &r, row)
						}
					}
				})
			})
			if err != nil {
				return fmt.Errorf("audit: %w", err)
			}
		}
		if !heard {
			return fmt.Errorf("audit: the clients of host %s have recorded nothing", s.name)
		}
	}
	if unordered {
		return nil
	}
	t.ready()
	for h, s := range j.sites {
		for _, log := range s.clients {
			err := log.read(func(r evidence.Reply) error { return t.judge(h, &r) })
			if err != nil {
				return fmt.Errorf("audit: %w", err)
			}
		}
	}
	return nil
}

// count counts a request and its IDs.
func (j *court) count(h int, r evidence.Reply) error {
	if r.Answered < r.Asked {
		return fmt.Errorf("a request of %s was answered before it was asked, at %s", j.when(r.Asked), j.when(r.Answered))
	}
	n := uint64(0)
	for _, run := range r.IDs {
		n += uint64(max(run.N, 0))
	}
	if r.Outcome == evidence.Got && n == 0 {
		return fmt.Errorf("a request of %s got a whole reply without an ID", j.when(r.Asked))
	}
	for _, c := range []*Counts{&j.verdict.Counts, &j.verdict.Hosts[h].Counts} {
		c.Received += n
		switch r.Outcome {
		case evidence.Got:
			c.Got++
		case evidence.Refused:
			c.Refused++
		case evidence.Lost:
			c.LostReplies++
		case evidence.Unsent:
			c.Unsent++
		default:
			return fmt.Errorf("there is no outcome %d", r.Outcome)
		}
	}
	if r.Outcome == evidence.Unsent && n > 0 {
		return errors.New("a request that was not sent has IDs")
	}
	return nil
}

// rows hands out the rows of a reply, and each run that is not of IDs once.
func (j *court) rows(r evidence.Reply, yield func(whole bool, run evidence.Run, row row)) error {
	for _, run := range r.IDs {
		whole, err := j.split(run, func(row row) { yield(true, run, row) })
		if err != nil {
			return err
		}
		if !whole {
			yield(false, run, row{})
		}
	}
	return nil
}
