package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/audit/evidence"
)

// entry is a row as it is compared.
type entry struct {
	from  key
	at    evidence.Mono // recorded, or received
	asked evidence.Mono // when it was received
	n     uint32
	who   uint32 // of starts, or of sources
}

func (e entry) end() key { return e.from + key(e.n) }

// source is a client's log.
type source struct {
	host int
	log  log[evidence.Reply]
}

// comparison judges all IDs by Unique.
type comparison struct {
	*court
	sources          []source
	issued, received []entry
}

// unique compares what was issued and what was received.
func (j *court) unique() error {
	c := &comparison{court: j}
	for h, s := range j.sites {
		for _, l := range s.clients {
			c.sources = append(c.sources, source{h, l})
		}
	}
	if err := c.load(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	c.compare()
	for i := range j.verdict.Hosts {
		h := &j.verdict.Hosts[i]
		j.verdict.Lost += h.Lost
	}
	return nil
}

// load reads all rows.
func (c *comparison) load() error {
	for i := range c.starts {
		err := c.starts[i].log.read(func(e evidence.Event) error {
			if e.Kind != evidence.Issued {
				return nil
			}
			_, err := c.split(e.Run, func(r row) { c.issued = append(c.issued, entry{r.from, e.At, 0, uint32(r.n), uint32(i)}) })
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, s := range c.sources {
		err := s.log.read(func(r evidence.Reply) error {
			return c.rows(r, func(whole bool, _ evidence.Run, next row) {
				if whole {
					c.received = append(c.received, entry{next.from, r.Answered, r.Asked, uint32(next.n), uint32(i)})
				}
			})
		})
		if err != nil {
			return err
		}
	}
	inOrder := func(a, b entry) int {
		switch {
		case a.from < b.from:
			return -1
		case a.from > b.from:
			return 1
		}
		return cmp.Compare(a.at, b.at)
	}
	slices.SortFunc(c.issued, inOrder)
	slices.SortFunc(c.received, inOrder)
	return nil
}

// compare goes through what was loaded, one tick of one lane after the other.
func (c *comparison) compare() {
	issued, received := c.issued, c.received
	for len(issued) > 0 || len(received) > 0 {
		var of key
		switch {
		case len(received) == 0:
			of = c.group(issued[0].from)
		case len(issued) == 0:
			of = c.group(received[0].from)
		default:
			of = min(c.group(issued[0].from), c.group(received[0].from))
		}
		i, r := c.reach(issued, of), c.reach(received, of)
		c.judge(issued[:i], received[:r])
		issued, received = issued[i:], received[r:]
	}
}

// reach is how many entries at the beginning are of the group.
func (c *comparison) reach(all []entry, of key) int {
	n := 0
	for n < len(all) && c.group(all[n].from) == of {
		n++
	}
	return n
}

// judge compares what was issued and received of one tick of one lane.
func (c *comparison) judge(issued, received []entry) {
	twice := c.repeats(IssuedTwice, issued, c.issuer)
	again := c.repeats(ReceivedTwice, received, c.receiver)
	for _, i := range issued {
		c.verdict.Hosts[c.starts[i.who].host].Lost += uint64(i.n)
	}
	if twice || again {
		c.each(issued, received)
		return
	}
	// Neither side overlaps itself: each row of one side meets the other's in order.
	at := 0
	for _, r := range received {
		for x := r.from; x < r.end(); {
			for at < len(issued) && issued[at].end() <= x {
				at++
			}
			if at == len(issued) || issued[at].from > x {
				end := r.end()
				if at < len(issued) {
					end = min(end, issued[at].from)
				}
				c.unrecorded(r, x, uint64(end-x), nil)
				x = end
				continue
			}
			end := min(r.end(), issued[at].end())
			c.met(r, x, uint64(end-x), issued[at])
			c.verdict.Hosts[c.starts[issued[at].who].host].Lost -= uint64(end - x)
			x = end
		}
	}
}

// each is judge for rows that have IDs in common: it looks at every ID by itself.
func (c *comparison) each(issued, received []entry) {
	arrived := map[key]bool{}
	for _, r := range received {
		for x := r.from; x < r.end(); x++ {
			arrived[x] = true
			var best *entry // the most likely to be what was received, and of those the first
			for i := range issued {
				e := &issued[i]
				if x < e.from || x >= e.end() {
					continue
				}
				if best == nil || cmp.Or(cmp.Compare(c.distance(r, *e), c.distance(r, *best)), cmp.Compare(e.at, best.at)) < 0 {
					best = e
				}
			}
			if best == nil {
				c.unrecorded(r, x, 1, nil)
			} else {
				c.met(r, x, 1, *best)
			}
		}
	}
	for _, e := range issued {
		for x := e.from; x < e.end(); x++ {
			if arrived[x] {
				c.verdict.Hosts[c.starts[e.who].host].Lost--
			}
		}
	}
}

// distance is lower the more likely it is that r received i, and not what another recorded.
func (c *comparison) distance(r, i entry) int {
	switch {
	case c.starts[i.who].host != c.sources[r.who].host:
		return 2
	case i.at < r.asked:
		return 1
	default:
		return 0
	}
}

// repeats counts IDs that are in more than one entry, each time after the first.
func (c *comparison) repeats(kind string, all []entry, who func(entry) string) bool {
	found := false
	for i, last := 1, 0; i < len(all); i++ {
		e, before := all[i], all[last]
		if e.from < before.end() {
			found = true
			c.verdict.against(Unique, kind, uint64(min(e.end(), before.end())-e.from), func() string {
				return fmt.Sprintf("%s, %s, and again %s", c.describe(e.from), who(before), who(e))
			})
		}
		if e.end() > before.end() {
			last = i
		}
	}
	return found
}

func (c *comparison) issuer(e entry) string {
	return fmt.Sprintf("by %s at %s", c.startName(&c.starts[e.who]), c.when(e.at))
}

func (c *comparison) receiver(e entry) string {
	s := c.sources[e.who]
	return fmt.Sprintf("from %s at %s (%s)", c.sites[s.host].name, c.when(e.at), s.log.name)
}

// met judges n IDs from x on, which i has and r received.
func (c *comparison) met(r entry, x key, n uint64, i entry) {
	switch {
	case c.starts[i.who].host != c.sources[r.who].host:
		c.unrecorded(r, x, n, &i)
	case i.at < r.asked:
		c.verdict.against(Unique, Stale, n, func() string {
			return fmt.Sprintf("%s, and %d after it, were asked for at %s and received %s, and recorded before that, %s", c.describe(x), n-1, c.when(r.asked), c.receiver(r), c.issuer(i))
		})
	case i.at > r.at:
		c.verdict.against(Unique, Early, n, func() string {
			return fmt.Sprintf("%s, and %d after it, were received %s, and recorded %s", c.describe(x), n-1, c.receiver(r), c.issuer(i))
		})
	}
}

// unrecorded notes that r received n IDs from x on that no daemon of its host recorded; elsewhere
// is of another host that did.
func (c *comparison) unrecorded(r entry, x key, n uint64, elsewhere *entry) {
	c.verdict.against(Unique, Unrecorded, n, func() string {
		text := fmt.Sprintf("%s, and %d after it, were received %s; no daemon of that host recorded them", c.describe(x), n-1, c.receiver(r))
		if elsewhere != nil {
			text += ", but they were issued " + c.issuer(*elsewhere)
		}
		return text
	})
}
