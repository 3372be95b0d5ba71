package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/wire"
)

// batch is how many IDs one request asks for, unless the daemon wants fewer. More
// would let the first lines wait; fewer would cost round trips. Runs are short
// however many IDs they have, and one request has longer ones: its batch is as many
// as a daemon gives by default.
const (
	batch    = 1000
	runBatch = resp.DefaultCount
)

// next is one run of the next command.
type next struct {
	client *client
	out    *bufio.Writer
	batch  int      // IDs that one request asks for
	most   int      // and the most that it may
	tenant []string // the words of the request that name the tenant
	form   []string // and the form
}

func nextCommand(own paths) *urfave.Command {
	flags := newClientFlags(own)
	return withConfig(&urfave.Command{
		Name:  "next",
		Usage: "print new IDs, one per line",
		Description: fmt.Sprintf("Exits with status 0 if all IDs were printed, %d if the daemon cannot issue IDs now, %d if no daemon listens,\n"+
			"%d if it rejected the request as invalid, %d after another failure. IDs that were printed before an error are valid.",
			ExitNotReady, ExitNoDaemon, ExitRefused, ExitFailed),
		ArgsUsage: "[COUNT]",
		Flags: append(flags.flags(),
			&urfave.StringFlag{Name: "tenant", Usage: "issue them for this `TENANT`, a number of the layout's tenant field"},
			asFlag("write the IDs in this `FORM`: "+strings.Join(form.Names(), ", ")+"; without it, in the daemon's"),
			&urfave.BoolFlag{Name: "run", Usage: "print runs instead of IDs: first ID, count, step"},
		),
		Action: func(c *urfave.Context) error {
			count := 1
			if c.Args().Present() {
				var err error
				if count, err = strconv.Atoi(c.Args().First()); err != nil || count < 1 {
					return usagef("the count %q is not a whole number of 1 or more", c.Args().First())
				}
			}
			if c.NArg() > 1 {
				return usagef("next takes one count, but got %q too", c.Args().Get(1))
			}
			if c.IsSet("tenant") && c.String("tenant") == "" {
				return usagef("--tenant is empty: give a number of the layout's tenant field")
			}
			n := next{client: flags.open(), out: bufio.NewWriter(c.App.Writer), batch: batch, most: batch}
			defer n.client.close()
			if c.IsSet("tenant") {
				n.tenant = []string{"TENANT", c.String("tenant")}
			}
			as, named := formOf(c)
			if named {
				n.form = []string{"AS", as.String()}
			}
			if named && as != form.Integer && c.Bool("run") {
				return usagef("--run prints integers: leave --as %s out", as)
			}
			take := n.ids
			if c.Bool("run") {
				take, n.batch, n.most = n.runs, runBatch, runBatch
			}
			return n.all(c.Context, count, take)
		},
	})
}

// all takes count IDs in batches. Each batch is printed before the next one is
// asked for, so that an error loses none.
func (n *next) all(ctx context.Context, count int, take func(context.Context, int) (int, error)) error {
	for left := count; left > 0; {
		asked := min(left, n.batch)
		got, err := take(ctx, asked)
		if asked > 1 && n.tooMany(ctx, asked, err) {
			continue
		}
		if flushErr := n.out.Flush(); err == nil && flushErr != nil {
			err = fmt.Errorf("writing IDs: %w", flushErr)
		}
		if err != nil {
			if left < count {
				return fmt.Errorf("after %d of %d IDs: %w", count-left, count, err)
			}
			return err
		}
		left -= got
		n.batch = min(2*n.batch, n.most)
	}
	return nil
}

// tooMany reports whether the daemon refused a request because of its count, and has the next one
// ask for fewer.
func (n *next) tooMany(ctx context.Context, asked int, err error) bool {
	var refused *refusedError
	if !errors.As(err, &refused) {
		return false
	}
	text := string(refused.reply)
	if largest, now, ok := wire.AtMost(refused.reply); ok && int(largest) < asked {
		n.batch = int(largest)
		if !now {
			n.most = n.batch
		}
		return true
	}
	if !strings.HasPrefix(text, "ERR the count ") || !strings.Contains(text, " is over the limit of ") {
		return false
	}
	n.batch = n.fewer(ctx, asked)
	n.most = n.batch
	return true
}

// fewer is how many IDs to ask for after asked were too many, at least 1: as many
// as the daemon says that it takes, or half as many.
func (n *next) fewer(ctx context.Context, asked int) int {
	if in, err := n.client.status(ctx); err == nil {
		text, _ := in.Get(info.MaxCount)
		if most, err := strconv.Atoi(text); err == nil && most >= 1 && most < asked {
			return most
		}
	}
	return asked / 2
}

// ids takes and prints IDs, in whichever form they come.
func (n *next) ids(ctx context.Context, count int) (int, error) {
	var ids []string
	err := n.ask(ctx, func(r *wire.Reader) (err error) {
		ids, err = r.IDs(count)
		return err
	}, "NEXT", count, n.form...)
	for _, id := range ids {
		n.line(id)
	}
	return len(ids), err
}

// runs takes IDs and prints the runs they come in.
func (n *next) runs(ctx context.Context, count int) (taken int, err error) {
	var runs []wire.Pair
	var step int64
	err = n.ask(ctx, func(r *wire.Reader) (err error) {
		runs, step, err = r.Runs(nil, int64(count))
		return err
	}, "RUN", count)
	for _, run := range runs {
		n.line(fmt.Sprint(run.First), fmt.Sprint(run.N), fmt.Sprint(step))
		taken += int(run.N)
	}
	return taken, err
}

func (n *next) ask(ctx context.Context, read func(*wire.Reader) error, command string, count int, more ...string) error {
	return n.client.ask(ctx, read, slices.Concat([]string{command, strconv.Itoa(count)}, n.tenant, more)...)
}

// line prints words on one line. An error shows at the flush.
func (n *next) line(words ...string) {
	for i, word := range words {
		if i > 0 {
			_ = n.out.WriteByte(' ')
		}
		_, _ = n.out.WriteString(word)
	}
	_ = n.out.WriteByte('\n')
}
