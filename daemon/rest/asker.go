package rest

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// Asker asks for other dialects that the server's listeners carry, in the name of the connection by
// which a request came. One Asker's IDs rise. It is for one goroutine at a time.
type Asker struct {
	config Config
	client *client
}

// Asks makes one for the request that ctx is of.
func (c Config) Asks(ctx context.Context) *Asker {
	of, ok := ctx.Value(clientKey{}).(*client)
	if !ok {
		of = c.asker(ctx)
	}
	return &Asker{c, of}
}

// Replies says that a reply of so many bytes is kept until the request has ended.
func (a *Asker) Replies(n int) { a.client.replies(n) }

// Take takes count IDs for the tenant of that number; empty: of 0. They are counted by the form
// that they will be written in.
func (a *Asker) Take(ctx context.Context, tenant string, count uint32, as form.Form) ([]generator.Run, *Problem) {
	n, refusal := resp.Count(a.config.MaxCount, strconv.AppendUint(nil, uint64(count), 10))
	of := uint32(0)
	if refusal == nil && tenant != "" {
		of, refusal = a.config.tenant(tenant)
	}
	if refusal != nil {
		return nil, problemOf(refusal)
	}
	runs, err := a.config.Take.Take(ctx, &a.client.issue, of, n, as, a.client.runs[:0])
	if err != nil {
		return nil, problemOfTake(err)
	}
	if cap(runs) <= keptRoom/runBytes {
		a.client.runs = runs
	}
	return runs, nil
}

// Form finds a form by its name, in which IDs can be written; empty: the daemon's own.
func (a *Asker) Form(name string) (form.Form, *Problem) {
	f, refusal := a.config.named(name)
	return f, problemOf(refusal)
}

// Text is an ID in a form.
func (a *Asker) Text(f form.Form, id int64) string {
	return string(a.config.coder().Append(nil, f, id))
}

// Decode takes an ID apart: an integer or a UUID as it is, or one of the form that as names.
func (a *Asker) Decode(id, as string) (int64, generator.Parts, *Problem) {
	n, parts, refusal := a.config.decode(id, as)
	return n, parts, problemOf(refusal)
}

// RetryAfter is when to try again; 0: that is of no use.
func (p Problem) RetryAfter() time.Duration { return min(p.retry, math.MaxInt64) }
