package audit

import (
	"fmt"
	"iter"

	"github.com/flakeward/flakeward/audit/evidence"
)

// Reported is one host's evidence that is in no file, as that of a simulation. Each log is read
// several times.
type Reported struct {
	Name    string
	Starts  []iter.Seq[evidence.Event] // one log for each start of a daemon, in any order
	Replies iter.Seq[evidence.Reply]   // of all its clients
	Steps   []Step
}

// JudgeReported is Judge for evidence in memory. It ignores c.Hosts. Its texts give times as they
// are in the evidence, not from the first start of a daemon.
func JudgeReported(c Cluster, hosts []Reported) (Verdict, error) {
	sites := make([]site, len(hosts))
	for i, h := range hosts {
		s := site{name: h.Name, steps: h.Steps}
		for n, start := range h.Starts {
			s.daemons = append(s.daemons, log[evidence.Event]{fmt.Sprintf("log %d of %s", n+1, h.Name), streamed(start)})
		}
		s.clients = []log[evidence.Reply]{{"the replies of " + h.Name, streamed(h.Replies)}}
		sites[i] = s
	}
	c.asIs = true
	return judge(c, sites)
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
