package audit

import (
	"fmt"
	"iter"

	"github.com/flakeward/flakeward/audit/evidence"
)

// Told is one host's evidence where nothing is in files: that of a simulation. Each log is read
// several times.
type Told struct {
	Name    string
	Lives   []iter.Seq[evidence.Event] // one log for each start of a daemon, in any order
	Replies iter.Seq[evidence.Reply]   // of all its clients
	Steps   []Step
}

// JudgeTold is Judge on what hosts have told; c.Hosts is not looked at. Times are told as they are
// in the evidence, and not from the first start of a daemon.
func JudgeTold(c Cluster, hosts []Told) (Verdict, error) {
	sites := make([]site, len(hosts))
	for i, h := range hosts {
		s := site{name: h.Name, steps: h.Steps}
		for n, life := range h.Lives {
			s.daemons = append(s.daemons, log[evidence.Event]{fmt.Sprintf("log %d of %s", n+1, h.Name), streamed(life)})
		}
		s.clients = []log[evidence.Reply]{{"the replies of " + h.Name, streamed(h.Replies)}}
		sites[i] = s
	}
	c.asIs = true
	return judge(c, sites, partMemory)
}

func streamed[T any](entries iter.Seq[T]) stream[T] {
	return func(yield func(T) error) (err error) {
		entries(func(e T) bool {
			err = yield(e)
			return err == nil
		})
		return err
	}
}
