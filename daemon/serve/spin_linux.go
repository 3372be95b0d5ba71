package serve

const (
	// mostPolls is how often the loop looks for events before it sleeps: some 50 µs, in which a busy client is back. More brought nothing
	// when measured, and a quarter of it left redis-benchmark 5% slower with 50 connections and pipelines of 16.
	mostPolls = 200
	// lonePolls is the same for a single client that waits for each reply. Such a client is best served on its own processor, which
	// the kernel sees to if the loop sleeps while the client works.
	lonePolls = 20
	// loneAfter is how many rounds in a row have to be for the same connection alone.
	loneAfter = 16
	// probeEvery is how many sleeps a loop that has stopped polling sleeps before it tries once again whether that pays.
	probeEvery = 64
)

// spin decides how often to poll before the loop sleeps. Waking a thread costs the client, whose write does it, more than the
// request costs here, so a loop that sleeps too readily slows its clients down. Polling is kept up only while it finds something: it stops
// after a few failures in a row, so slow traffic costs next to nothing and no traffic costs nothing.
type spin struct {
	allowed int
	sleeps  int   // since polling was given up
	last    int32 // the file descriptor of the last round that was for one alone
	alone   int   // rounds in a row for that one
}

// polls is how often to look now.
func (s *spin) polls() int {
	if s.allowed == 0 {
		if s.sleeps++; s.sleeps%probeEvery == 0 {
			return s.most()
		}
	}
	return min(s.allowed, s.most())
}

func (s *spin) most() int {
	if s.alone >= loneAfter {
		return lonePolls
	}
	return mostPolls
}

func (s *spin) found() { s.allowed, s.sleeps = mostPolls, 0 }

func (s *spin) failed() { s.allowed /= 2 }

// saw is told of each round: how many connections have something, and the file descriptor of the first.
func (s *spin) saw(n int, fd int32) {
	if n != 1 || fd != s.last {
		s.alone = 0
		s.last = fd
	}
	s.alone++
}
