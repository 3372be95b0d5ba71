// Package page is the daemon's page in a browser, for people who want to look rather than read: the
// clock's line, rate and latency of the last 15 minutes, what the guard did, what keeps IDs from
// being issued, the cluster's members, and an ID taken apart.
//
// It is rendered here alone. Each second, while somebody looks, the elements that have changed go
// to the browsers as server-sent events, and a script of some lines puts them into their places.
// Without the script, the page is the same at the moment of its request. What it shows is read from
// counters that are there anyway, once a second: issuing knows nothing of it.
package page

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/generator"
)

// Config is what a Page shows.
type Config struct {
	Version string
	Host    string
	Layout  *generator.Layout
	Figures func() metrics.Figures // must not block
	Counts  *tally.Table
	Events  *condition.Counts
	Clock   clockguard.Clock // known time
	Log     hclog.Logger

	// Contact returns nil if the coordinator answers.
	Contact func(context.Context) error
	// Members asks the coordinator.
	Members func(context.Context) (cluster.Status, error)
	// Holder asks the coordinator whose an ID was.
	Holder func(context.Context, generator.Parts) (cluster.Finding, error)

	// Decode takes an ID apart: an integer or a UUID as it is, or one of the form that as names.
	Decode  func(text, as string) (int64, generator.Parts, error)
	Tenants *tenant.Tenants // those that have names; nil: none has
	// User tells whose a request is; nil: all are of one user.
	User func(*http.Request) queue.User
}

const (
	sampleEvery  = time.Second
	membersEvery = 5 * time.Second
	// A coordinator that does not answer for so long is shown to be away, until it does.
	contactTimeout = 750 * time.Millisecond
	membersTimeout = 2 * time.Second
	lastEvent      = time.Second // in which a browser must take it when the page closes
)

// Page answers browsers. Its methods may be called from any goroutine.
type Page struct {
	config  Config
	streams *streams
	render  *renderer
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup
	turn    chan struct{} // has one while the coordinator is asked

	mu      sync.Mutex
	history history
	events  events
	asked   asked
}

// asked is what the coordinator has said.
type asked struct {
	at       clockguard.Mono // when it was asked last; 0: never
	took     time.Duration
	err      error
	since    time.Time // known time, from which on it has not answered
	members  cluster.Status
	listed   clockguard.Mono // when they were; 0: never
	stale    bool            // they are others by now
	unlisted error           // why they were not
}

// New makes a page. Begin and Close belong together.
func New(c Config) *Page {
	p := &Page{config: c, streams: newStreams(), render: newRenderer(), turn: make(chan struct{}, 1)}
	if p.config.Log == nil {
		p.config.Log = hclog.NewNullLogger()
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Handlers are those of the page's paths.
func (p *Page) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"/": secure(p.show), "/page/events": secure(p.stream),
		"/page/style.css": secure(asset("style.css", "text/css; charset=utf-8")), "/page/script.js": secure(asset("script.js", "text/javascript; charset=utf-8")),
		"/page/icon.svg": secure(asset("icon.svg", "image/svg+xml")),
	}
}

// Begin samples once a second until Close.
func (p *Page) Begin() {
	figures := p.config.Figures()
	p.mu.Lock()
	p.history.begin(read(p.config.Counts.Snapshot()), figures.Now.Mono)
	p.events.begin(figures, p.config.Events)
	p.mu.Unlock()
	p.work.Go(func() {
		for p.config.Clock.Sleep(p.ctx, sampleEvery) == nil {
			p.sample()
		}
	})
}

// Close ends all streams, and returns once all that Begin has started has ended. No stream begins
// any more; the page is still shown.
func (p *Page) Close() {
	ctx, cancel := clockguard.WithTimeout(context.Background(), p.config.Clock, lastEvent)
	p.streams.close(ctx)
	cancel()
	p.cancel()
	p.work.Wait()
}

// sample takes a sample, and shows it to those who look.
func (p *Page) sample() {
	figures, counts := p.config.Figures(), read(p.config.Counts.Snapshot())
	p.mu.Lock()
	p.history.add(counts, figures.Now.Mono)
	if p.events.look(figures, p.config.Events) {
		p.asked.stale = true
	}
	p.mu.Unlock()
	if !p.streams.watched() {
		return
	}
	select {
	case p.turn <- struct{}{}:
		p.work.Go(func() {
			defer func() { <-p.turn }()
			if p.ask(p.ctx) {
				p.publish(p.config.Figures())
			}
		})
	default: // it is asked
	}
	p.publish(figures)
}

// publish renders what is known now for those who look.
func (p *Page) publish(figures metrics.Figures) {
	html, err := p.render.parts(p.view(figures))
	if err != nil {
		p.config.Log.Debug("the page cannot be rendered", "error", err)
		return
	}
	p.streams.publish(html)
}

// ask asks the coordinator whether it is there, and for the members if what is known of them is
// old. It reports whether there is news. The caller has the turn.
func (p *Page) ask(ctx context.Context) (news bool) {
	contact, cancel := clockguard.WithTimeout(ctx, p.config.Clock, contactTimeout)
	begun := p.config.Clock.Now()
	err := p.config.Contact(contact)
	end := p.config.Clock.Now()
	cancel()
	p.mu.Lock()
	news = p.asked.at == 0 || (p.asked.err == nil) != (err == nil)
	switch {
	case err == nil:
		p.asked.since = time.Time{}
	case p.asked.since.IsZero():
		p.asked.since = time.Unix(0, begun.Wall)
	}
	p.asked.at, p.asked.took, p.asked.err = end.Mono, end.Mono.Sub(begun.Mono), err
	due := err == nil && (p.asked.listed == 0 || p.asked.stale || end.Mono.Sub(p.asked.listed) >= membersEvery)
	p.mu.Unlock()
	if !due {
		return news
	}
	ctx, cancel = clockguard.WithTimeout(ctx, p.config.Clock, membersTimeout)
	defer cancel()
	members, err := p.config.Members(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.unlisted = err; err == nil {
		p.asked.members, p.asked.listed, p.asked.stale = members, p.config.Clock.Now().Mono, false
	}
	return true
}

// askSoon asks unless that was done a moment ago.
func (p *Page) askSoon(ctx context.Context) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return
	}
	p.mu.Lock()
	at := p.asked.at
	p.mu.Unlock()
	if at == 0 || p.config.Clock.Now().Mono.Sub(at) > 2*sampleEvery {
		p.ask(ctx)
	}
}

// show is GET /.
func (p *Page) show(w http.ResponseWriter, r *http.Request) {
	p.askSoon(r.Context())
	v := p.view(p.config.Figures())
	if text := r.URL.Query().Get("id"); text != "" {
		v.ID = p.takeApart(r.Context(), text, r.URL.Query().Get("as"))
	}
	html, err := p.render.page(v)
	if err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(html)
}

// stream is GET /page/events.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodHead:
		w.Header().Set("Content-Type", "text/event-stream")
	case foreign(r):
		http.Error(w, "this is for the page of this daemon alone: open it itself", http.StatusForbidden)
	default:
		var u queue.User
		if p.config.User != nil {
			u = p.config.User(r)
		}
		p.streams.serve(w, r, u)
	}
}
