package page

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

var (
	shots  = flag.String("shots", "", "the `directory` in which screenshots are written")
	before = flag.Duration("before", 0, "how long the daemons serve before that")
)

const (
	// seenWithin is the promise. A busy machine may take longer: mostTime is for that.
	seenWithin = 4 * time.Second
	mostTime   = time.Minute
)

// site is a cluster of two daemons, of which the first has a page.
type site struct {
	etcd   *etcdtest.Cluster
	clock  *clocktest.Stepped
	url    string
	socket string
}

// markup is what a version must not become.
const markup = "<i id=injected>v1</i>"

var listens = regexp.MustCompile(`listening on an address: address=(\S+)`)

func start(t *testing.T) *site {
	t.Helper()
	s := &site{etcd: etcdtest.Start(t, etcdtest.Options{}), clock: &clocktest.Stepped{}}
	var first *daemontest.Daemon
	for _, host := range []string{"alpha", "beta"} {
		c := daemontest.Config(sockettest.Dir(t))
		c.Host, c.Cluster.Coord = host, s.etcd.URL("page")
		c.Version = "v1.2.3"
		if first == nil {
			c.Clock, c.Listen.Address = s.clock, "127.0.0.1:0"
		} else if *shots == "" {
			c.Version = markup
		}
		d := daemontest.Launch(t, c, daemon.Run)
		d.UntilReady()
		if first == nil {
			first = d
		}
	}
	must.Soon(t, func() bool {
		found := listens.FindStringSubmatch(first.Log.String())
		if found != nil {
			s.url = "http://" + found[1]
		}
		return found != nil
	}, "it listens on an address")
	s.socket = first.Config.Socket.Path
	return s
}

// TestThePage shows it to a real browser.
func TestThePage(t *testing.T) {
	s := start(t)
	b := open(t)
	b.do(chromedp.Navigate(s.url))
	b.until("the page is live", text("link", "live"))
	b.until("the members are shown", text("members", "alpha")+" && "+text("members", "beta"))
	b.until("a daemon that nobody asks is healthy", text("headline", "Issuing IDs")+` && document.getElementById('state').className === 'state good' && document.querySelectorAll('.pill.bad').length === 0`)
	b.scheme("light")
	b.shot("page-unasked.png")
	if *shots == "" && !ask(b, chromedp.Evaluate[bool](`!document.getElementById('injected') && `+text("members", markup))) {
		t.Error("a member's version became markup")
	}
	must.Get(load.Open(t.Context(), s.socket, load.Config{Rate: 2000}))(t)
	id := ""
	for range 5 { // the number of the first may be one that looks rounded
		id = fmt.Sprint(must.Get(load.Ask(t.Context(), s.socket, (*wire.Reader).Int, "NEXT"))(t))
	}
	b.until("IDs are issued", text("headline", "Issuing IDs")+` && !/IDs\/s\s*0\s/.test(document.getElementById('traffic').innerText)`)
	b.do(chromedp.SetValue(chromedp.CSS("#id"), id), chromedp.Click(chromedp.CSS("#ask button")))
	b.until("an ID is decoded", text("apart", "sequence")+" && "+text("apart", "flakeward explain "+id))
	b.until("the address has the ID", fmt.Sprintf("location.search.includes(%q)", id))
	b.do(chromedp.Focus(chromedp.CSS("#id")))

	t.Run("weight", func(t *testing.T) {
		if n := b.weight.Load(); n < 1000 || n > 100_000 {
			t.Errorf("the page has %d bytes, at most 100,000 are allowed", n)
		} else {
			t.Logf("FIGURE %d bytes in all", n)
		}
	})
	t.Run("labels", b.labelled)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			b.scheme(scheme)
			b.legible(t)
		})
	}
	if *before > 0 {
		wait, stop := context.WithTimeout(t.Context(), *before)
		<-wait.Done()
		stop()
	}
	t.Run("phone", func(t *testing.T) {
		b.do(chromedp.EmulateViewport(360, 740))
		if wide := ask(b, chromedp.Evaluate[string](tooWide)); wide != "" {
			t.Errorf("the page scrolls sideways at 360 pixels, by %s", wide)
		}
		if cut := ask(b, chromedp.Evaluate[string](cutOff)); cut != "" {
			t.Errorf("at 360 pixels, these are cut off: %s", cut)
		}
		b.legible(t)
		b.shot("page-phone.png")
		b.do(chromedp.EmulateViewport(1280, 900))
		b.scheme("light")
	})
	s.clock.By.Add(int64(-time.Minute))
	t.Logf("FIGURE a step back and a re-lease are seen after %v", b.until("a re-lease is seen", text("log", "re-lease")+" && "+text("log", "stepped back")))
	b.shot("page.png")
	s.clock.By.Add(int64(time.Hour))
	t.Logf("FIGURE a step ahead is seen after %v", b.until("a step ahead is seen", text("headline", "the clock is held")+" && "+text("conditions", "clock-held")+" && "+text("conditions", "What to do")))
	b.scheme("dark")
	b.legible(t)
	b.shot("page-held.png")
	s.clock.By.Add(int64(-time.Hour))
	b.until("the clock is back", text("facts", "followed"))
	s.etcd.StopAll()
	t.Logf("FIGURE a kill of the coordinator is seen after %v", b.until("the coordinator is gone", text("facts", "does not answer")))
	b.until("it says for how long IDs are issued", `/^Issuing IDs, for \d+ more (minute|second)/.test(document.getElementById('headline').textContent) && `+text("conditions", "coordinator-gone"))
	b.legible(t)
	b.labelled(t)
	b.scheme("light")
	b.shot("page-gone.png")
	s.etcd.StartAll()
	b.until("the coordinator is back", text("facts", "answers in")+" && "+text("headline", "Issuing IDs")+" && !"+text("headline", "more"))
	t.Logf("the promise is %v", seenWithin)
	if !ask(b, chromedp.Evaluate[bool](`document.activeElement.id === 'id'`)) {
		t.Error("the updates took the focus away")
	}
	for _, complaint := range b.complaints() {
		t.Errorf("the browser's console says: %s", complaint)
	}
}

// text is a condition: an element has a text.
func text(id, part string) string {
	return fmt.Sprintf("document.getElementById(%q)?.textContent.includes(%q)", id, part)
}

// shot writes a screenshot, if there is where.
func (b *browser) shot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	must.Do(b.t, os.WriteFile(filepath.Join(*shots, name), ask(b, chromedp.FullScreenshot(100)), 0o644))
}
