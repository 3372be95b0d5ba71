package pace

import (
	"math/rand/v2"
	"time"
)

// schedule lays down when requests are to be sent and on which connection.
//
// The times between two requests are exponentially distributed and the connection is drawn: a
// Poisson process, which is what many callers make who do not know of each other. Requests then
// come in clumps, as they do in life, and a server has to cope. With equal times each connection
// would send at the same offset into every millisecond: the load would run in step with a server
// that counts in milliseconds, and either always or never meet its ticks' edges.
type schedule struct {
	gap         float64 // ns, on average
	connections int
	random      *rand.Rand
	at          float64 // ns
}

func newSchedule(rate float64, connections int, seed uint64) *schedule {
	return &schedule{gap: float64(time.Second) / rate, connections: connections, random: rand.New(rand.NewPCG(seed, 0))}
}

// next is the next request: its time, in nanoseconds from the beginning, and its connection.
func (s *schedule) next() (at int64, connection int) {
	s.at += s.random.ExpFloat64() * s.gap
	return int64(s.at), s.random.IntN(s.connections)
}
