package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/daemon/tally"
)

// However many scrapes a user begins at once, four are answered, and the others are told to come
// again. That is nothing to another user.
func TestAFifthScrapeAtOnceIsRefused(t *testing.T) {
	w := newFixture(t)
	begun, goOn := make(chan struct{}, 10), make(chan struct{})
	m := metrics.New(metrics.Sources{Counts: &tally.Table{}, Events: condition.NewCounts(), Clock: clockguard.System{}, Figures: func() metrics.Figures {
		begun <- struct{}{}
		<-goOn
		return w.figures
	}, User: func(r *http.Request) queue.User { return queue.User{UID: uint32(len(r.Host))} }})
	scrapeAs := func(host string) int {
		r, scrape := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
		scrape.Host = host
		if m.ServeHTTP(r, scrape); r.Code != http.StatusOK && r.Header().Get("Retry-After") == "" {
			t.Error("it does not say when to come again")
		}
		return r.Code
	}
	scrape := func() int { return scrapeAs("a") }
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
	all.Go(func() {
		if got := scrapeAs("another"); got != http.StatusOK {
			t.Errorf("another user gets %d", got)
		}
	})
	<-begun
	close(goOn)
	all.Wait()
	if got := scrape(); got != http.StatusOK {
		t.Errorf("afterwards one gets %d", got)
	}
}
