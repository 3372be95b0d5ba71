package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// anyLead is more than any test's IDs are ahead of the true time.
const anyLead = 100 * 365 * 24 * time.Hour

// evidence returns the cluster's evidence. It can be changed, and read any number of times.
func (w *fakeCluster) evidence() (Cluster, []site) {
	c := Cluster{Layout: w.layout, History: slices.Clone(w.stored), Floor: w.made, Raises: w.raises, Past: w.past, Lead: cmp.Or(w.lead, anyLead), Wall: w.wall, Linear: w.linear}
	var sites []site
	for _, h := range w.hosts {
		s := site{name: h.name, steps: h.steps}
		for i := range h.starts {
			s.daemons = append(s.daemons, log[evidence.Event]{fmt.Sprintf("%s/daemon/%d", h.name, i), streamOf(&h.starts[i])})
		}
		s.clients = []log[evidence.Reply]{{h.name + "/client", streamOf(&h.replies)}}
		sites = append(sites, s)
	}
	return c, sites
}

func streamOf[T any](all *[]T) stream[T] {
	return func(yield func(T) error) error {
		for _, v := range *all {
			if err := yield(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// live does one thing at random. In some clusters an operator raises the floor: to what was granted, or
// to more or less.
func (w *fakeCluster) live() {
	if w.raised && w.pick(50) == 0 {
		w.raise(w.hosts[0].tick() + generator.Tick(w.pick(2*windowTicks)))
	}
	h := w.hosts[w.pick(len(w.hosts))]
	switch w.pick(40) {
	case 0:
		h.crash()
	case 1:
		h.crash()
		h.start(w.pick(2) == 0)
	case 2:
		h.stop(w.pick(4) > 0)
	case 3:
		h.crash()
		h.cur = grantOf{} // its disk is lost
	case 4, 5:
		if h.up && h.cur.slots != nil {
			w.expire(h.cur.worker)
		}
	case 6, 7, 8:
		if h.up {
			h.claimAgain()
		}
	case 9:
		h.step([...]time.Duration{-3 * time.Millisecond, -150 * time.Millisecond, -1500 * time.Millisecond, -30 * time.Second, time.Hour, 0, 0}[w.pick(7)])
	case 10:
		w.advance(time.Duration(w.pick(int(8 * time.Second)))) // a pause, perhaps longer than a session
	case 11:
		for worker, holder := range w.claims {
			if !holder.up && w.pick(2) == 0 {
				w.expire(worker)
				break
			}
		}
	case 12, 13, 14, 15:
		h.extend()
	case 16, 17, 18:
		h.start(w.pick(4) > 0)
	default:
		w.advance(time.Duration(w.pick(int(2 * w.tick))))
		h.ask(1+w.pick(700), w.pick(6) > 0)
	}
}

// claimAgain claims after a claim was lost: under its opening, if nobody has claimed the worker ID since.
func (h *computer) claimAgain() {
	if g := h.cur; g.slots != nil && h.w.records[g.worker].holder == g.opening && g.raises == len(h.w.raises) {
		if h.w.claims[g.worker] == nil {
			h.w.claims[g.worker] = h
			h.extend()
		}
		if h.w.claims[g.worker] == h {
			return
		}
	}
	if h.cur.opening != "" && h.w.records[h.cur.worker].holder != h.cur.opening {
		h.cur = grantOf{}
	}
	h.claim()
}
