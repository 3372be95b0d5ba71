package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/tally"
)

// However many scrape at once, four are answered, and the others are told to come again.
func TestAFifthScrapeAtOnceIsRefused(t *testing.T) {
	w := newFixture(t)
	begun, goOn := make(chan struct{}, 10), make(chan struct{})
	m := metrics.New(metrics.Sources{Counts: &tally.Table{}, Events: condition.NewCounts(), Clock: clockguard.System{}, Figures: func() metrics.Figures {
		begun <- struct{}{}
		<-goOn
		return w.figures
	}})
	scrape := func() int {
		r := httptest.NewRecorder()
		m.ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
		return r.Code
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got := scrape(); got != http.StatusOK {
				t.Errorf("one of four gets %d", got)
			}
		})
	}
	for range 4 {
		<-begun
	}
	fifth := make(chan int, 1)
	all.Go(func() { fifth <- scrape() })
	select {
	case got := <-fifth:
		if got != http.StatusServiceUnavailable {
			t.Errorf("the fifth gets %d", got)
		}
	case <-begun:
		t.Error("a fifth is begun")
	}
	close(goOn)
	all.Wait()
}
