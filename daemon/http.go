package daemon

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/daemon/await"
	"github.com/flakeward/flakeward/daemon/page"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/daemon/rpc"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/internal/form"
)

// web answers the connections that speak HTTP.
type web struct {
	taker   *await.Taker
	rest    *rest.Server
	count   *counter
	members *members
	leaving atomic.Bool // another daemon is about to take over
}

// newWeb makes what answers them with IDs from a source.
func newWeb(d *Daemon, source resp.Source, as form.Form) *web {
	w := &web{count: &counter{table: &d.counts}, members: newMembers(d)}
	w.taker = await.New(source, d.clock, w.count)
	config := w.config(d, as)
	maps.Copy(config.More, page.Handlers())
	config.RPC = rpc.New(config)
	w.rest = rest.New(config)
	return w
}

// config is what requests are answered from.
func (w *web) config(d *Daemon, as form.Form) rest.Config {
	return rest.Config{
		Take: w.taker, Layout: d.layout, Form: as, Coder: d.coder.Load, MaxCount: d.config.Socket.MaxCount,
		Status: d.Info, Cluster: func(ctx context.Context) (any, error) { return w.members.status(ctx) }, Health: rest.Health{Live: d.isLive, Ready: d.readiness}, Clock: d.clock, Count: w.count, Log: d.log.Named("http"),
		More: map[string]http.Handler{"/metrics": d.Metrics()}, Block: d.config.Waiting.MaxBlock,
		Leaving: w.leaving.Load, Unserved: d.tcp.Refuse,
	}
}

// end answers what is under way, and returns once all that serves has ended. The socket's server
// has been told to.
func (w *web) end(serving *sync.WaitGroup) {
	w.members.close()
	serving.Wait()
	w.rest.Wait()
}

// counter counts what the requests of HTTP come to.
type counter struct {
	server *serve.Server
	table  *tally.Table
}

// webDialect is the dialect of HTTP's requests where they are counted.
const webDialect = "http"

// Request implements rest.Counter, and Waits, Issued and Burnt implement await.Counter.
func (c *counter) Request(command, code string) {
	c.table.Requests(tally.Request{Dialect: webDialect, Command: command, Code: code}).Add(1)
}

// Waits counts requests that wait.
func (c *counter) Waits(n int64) { c.server.CountWaiting(n) }

// Issued counts IDs by their form.
func (c *counter) Issued(as form.Form, ids uint64) {
	c.table.IDs(as.String()).Add(ids)
}

// Burnt counts IDs that went to nobody.
func (c *counter) Burnt(ids uint64) { c.table.Burnt.Add(ids) }

// Took counts how long a request took.
func (c *counter) Took(d time.Duration) { c.table.Durations(webDialect).Observe(1, d) }
