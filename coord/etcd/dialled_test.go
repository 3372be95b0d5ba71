package etcd_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

// record is a log that tests read.
type record struct{ logtest.Buffer }

// count counts the lines of a level that contain the text.
func (r *record) count(level, text string) int {
	n := 0
	for line := range strings.Lines(r.String()) {
		if strings.Contains(line, "["+level+"]") && strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// has waits until there is such a line.
func (r *record) has(t testing.TB, level, text string) {
	t.Helper()
	must.Eventually(t, "a line of the log", func() error {
		if r.count(level, text) == 0 {
			return fmt.Errorf("no [%s] with %q in\n%s", level, text, r)
		}
		return nil
	})
}

// secret is the password in all tests; no log and no error may show it.
const secret = "geheimes-Wort"

// dialled is a coordinator with a client of its own, and all that it logs.
type dialled struct {
	*etcd.Coordinator
	t   testing.TB
	log *record
}

// dial returns a coordinator that is closed with the test, which fails if the log shows
// the password.
func dial(t testing.TB, servers etcd.Servers, config etcd.Config) dialled {
	t.Helper()
	d := dialled{t: t, log: &record{}}
	config.Identity = coord.Identity{Host: "h", Incarnation: "I"}
	config.Log = hclog.New(&hclog.LoggerOptions{Output: d.log, Level: hclog.Trace})
	if config.Prefix == "" {
		config.Prefix = "/ours/"
	}
	if config.TryTimeout == 0 {
		config.TryTimeout = 2 * time.Second
	}
	c := must.Get(etcd.Dial(servers, config))(t)
	d.Coordinator = c
	t.Cleanup(func() {
		_ = c.Close() // the servers may be gone
		if strings.Contains(d.log.String(), secret) {
			t.Errorf("the log shows the password:\n%s", d.log)
		}
	})
	return d
}

// join tries once.
func (d dialled) join() error {
	d.t.Helper()
	_, err := coordtest.CreateAndJoin(d.t.Context(), d, coord.Layout{Text: "layout", Workers: 8})
	if err != nil && strings.Contains(err.Error(), secret) {
		d.t.Errorf("the error shows the password: %v", err)
	}
	return err
}

// refused wants join to fail with an error that says all of want, and with the same
// text again: what is told once is compared by its text.
func (d dialled) refused(want ...string) error {
	d.t.Helper()
	first := d.join()
	for range 2 {
		err := d.join()
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				d.t.Fatalf("Join: %v; want %q", err, w)
			}
		}
		if first.Error() != err.Error() {
			d.t.Errorf("Join: first\n%v\nthen\n%v", first, err)
		}
	}
	d.t.Logf("Join: %v", first)
	return first
}

// works wants the coordinator to join, to claim and to extend.
func (d dialled) works() coord.Claim {
	d.t.Helper()
	must.Eventually(d.t, "Join", d.join)
	var claim coord.Claim
	must.Eventually(d.t, "Claim", func() (err error) {
		claim, err = d.Claim(d.t.Context(), coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
		return err
	})
	d.extends(claim, 10)
	return claim
}

func (d dialled) extends(claim coord.Claim, to int) {
	d.t.Helper()
	must.Eventually(d.t, "Extend", func() error {
		return claim.Extend(d.t.Context(), coord.Progress{Ceiling: tick(to)})
	})
}
