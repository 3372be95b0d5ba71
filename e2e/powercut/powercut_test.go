//go:build linux

// Package powercut cuts the power of a host whose daemon has a directory as its coordinator, on a
// disk that loses what was not flushed. The disk is a file system that forgets (package forgetfs);
// the daemon is a process of its own, built as for all drills, under load. The power goes at a
// flush of a record, of a directory, or of anything else there, just before it takes effect or just
// after. Then a new daemon starts, with nothing but the directory, often with its clock set back so
// that a lost record would show. It must serve again, and no ID may be one that ever left any
// daemon on that disk, nor above what its worker ID's record has after the cut.
//
// `scripts/prove power-cuts` runs the short form, and `scripts/prove power-cuts-long` the long one,
// of 1,000 cuts.
package powercut

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/isolated"
	"github.com/flakeward/flakeward/internal/process"
)

var (
	cuts = flag.Int("cuts", 40, "how often the power is cut, at least")
	seed = flag.Uint64("seed", 0, "of all random choices; 0: another each time, logged")
)

var binary, withBinary = process.Once(process.Build)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(isolated.Main(func() int {
		// Mostly they wait: for marks to pass, and for flushes.
		_ = flag.Set("test.parallel", "4")
		return withBinary(m.Run)
	}))
}

// begin returns the seed of a test.
func begin(t *testing.T) uint64 {
	t.Helper()
	s := *seed
	for s == 0 {
		s = rand.Uint64()
	}
	t.Logf("seed %d: -args -seed %d has the same choices again, if not the same times", s, s)
	return s
}

// firstFlushes is how many flushes a daemon makes on an empty disk until it serves, and a few more:
// at each of them the power is cut in a history of its own.
const firstFlushes = 20

// The power is cut at each of the first flushes of a daemon on an empty disk, and then at others.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	s := begin(t)
	histories := min(*cuts, firstFlushes)
	if *cuts >= 8*firstFlushes {
		histories = 2 * firstFlushes // before and after each of them
	}
	var total tally
	t.Run("histories", func(t *testing.T) {
		for i := range histories {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				chance := rand.New(rand.NewPCG(s, uint64(i)))
				h := newHost(t, chance, drawn(chance))
				h.live(cut{number: i%firstFlushes + 1, after: (i/firstFlushes+i)%2 == 0})
				for h.tally.cuts < (*cuts+i)/histories {
					h.between()
					h.live(drawnCut(chance, h.serving.Load()))
				}
				h.between()
				h.end()
				h.judge()
				total.add(&h.tally)
			})
		}
	})
	t.Logf("FIGURE %v", &total)
	if *cuts >= 8*firstFlushes && total.spare == 0 {
		t.Error("the power was never cut at a flush of a spare file")
	}
	if !t.Failed() && (total.cuts != *cuts || total.compared == 0) {
		t.Errorf("%d cuts, not %d; %d IDs were compared with a record", total.cuts, *cuts, total.compared)
	}
}

// That a record is lost shows: here by a disk that reports flushes of records as done when they are
// not, from the time on when the daemon serves.
func TestALostRecordShows(t *testing.T) {
	t.Parallel()
	s := begin(t)
	chance := rand.New(rand.NewPCG(s, 0))
	const limit = 30
	var h *host
	h = newHost(t, chance, settings{layout: wide, publish: 100 * time.Millisecond, lies: func(path string) bool {
		return h.serving.Load() && inDirectory(path)
	}})
	for n := range limit {
		h.live(cut{from: serving, counts: isRecord, number: 10 + chance.IntN(5)})
		if h.tally.aboveRecord > 0 {
			t.Logf("%d IDs were above the record that was lost, after %d cuts", h.tally.aboveRecord, n+1)
			return
		}
	}
	t.Errorf("no ID was above its record, after %d cuts of a disk that lies", limit)
}

// isRecord and inDirectory say what a flush was of: a record of the directory, in a new file or in
// the spare one, or the names of the records; anything in the directory.
func isRecord(path string) bool {
	return inDirectory(path) && (strings.HasSuffix(path, "/new") || isSpare(path) || strings.HasSuffix(path, "/workers"))
}

func isSpare(path string) bool { return strings.HasPrefix(path, "coord/spare-") }

func inDirectory(path string) bool { return strings.HasPrefix(path, "coord/") || path == "coord" }
