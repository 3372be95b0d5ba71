//go:build amd64 || arm64

package daemon_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/takeover"
)

// Who wants to take over may ask at any moment, also while the daemon of a cloned machine starts anew.
func TestNewcomersMayAskAClone(t *testing.T) {
	machine := newHypervisor(t, 0)
	c := config(dir(t))
	c.VMClock = machine.path
	r := start(t, c)
	r.next()
	stop := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if p, err := takeover.Ask(t.Context(), c.StateDir, "x", takeover.Settings{}); err == nil {
				_ = p.Close()
			}
		}
	})
	for gen := range 3 {
		machine.clone(uint64(gen + 1))
		for begun := time.Now(); time.Since(begun) < 2*time.Minute; {
			if strings.Count(r.log.String(), "so this daemon is a copy") > gen {
				if _, err := r.do("NEXT"); err == nil {
					break
				}
			}
		}
	}
	close(stop)
	asking.Wait()
}
