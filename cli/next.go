package cli

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
)

// batch is how many IDs are asked for at a time at most. More would let the first lines wait; fewer
// would cost round trips. Runs are short however many IDs they have, so it is as many as a daemon
// gives by default.
const (
	batch    = 1000
	runBatch = resp.DefaultCount
)

// next is one run of the next command.
type next struct {
	*clientFlags
	ids   *client.Client
	out   *bufio.Writer
	form  client.Form
	runs  bool
	batch int
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
			n := next{clientFlags: flags, out: bufio.NewWriter(c.App.Writer), runs: c.Bool("run"), batch: batch}
			if n.runs {
				n.batch = runBatch
			}
			options := []client.Option{client.LargestRun(n.batch)}
			if c.IsSet("tenant") {
				tenant, err := strconv.ParseUint(c.String("tenant"), 10, 32)
				if err != nil {
					return usagef("--tenant %q is not a number of the layout's tenant field", c.String("tenant"))
				}
				options = append(options, client.Tenant(uint32(tenant)))
			}
			as, named := formOf(c)
			if named && as != form.Integer && n.runs {
				return usagef("--run prints integers: leave --as %s out", as)
			}
			if !named && !n.runs {
				in, err := flags.status(c.Context)
				if err != nil {
					return err
				}
				text, _ := in.Get(info.Form)
				as, _ = form.Named(text) // a daemon that tells none writes integers
			}
			if n.form = client.Form(as); as == form.Integer {
				n.form = client.String
			}
			var err error
			if n.ids, err = flags.open(options...); err != nil {
				return err
			}
			defer n.ids.Close() // is nil
			return n.all(c.Context, count)
		},
	})
}

// all takes count IDs in batches. Each batch is printed before the next one is asked for, so that
// an error loses none. All of a batch have to come within the timeout, whatever the daemon's rate:
// so a batch is twice the one before it while they come in a fraction of that, else half of it.
func (n *next) all(ctx context.Context, count int) error {
	for left, asked := count, 1; left > 0; {
		asked = min(asked, left, n.batch)
		begun := time.Now()
		err := n.explain(ctx, n.print(ctx, asked))
		if flushErr := n.out.Flush(); err == nil && flushErr != nil {
			err = fmt.Errorf("writing IDs: %w", flushErr)
		}
		if err != nil && left < count {
			err = fmt.Errorf("after %d of %d IDs: %w", count-left, count, err)
		}
		if err != nil {
			return err
		}
		left -= asked
		if asked *= 2; time.Since(begun) > n.timeout/8 {
			asked = max(1, asked/4)
		}
	}
	return nil
}

// print takes and prints IDs, in their form or in runs. An error of the output shows at the flush.
func (n *next) print(ctx context.Context, count int) error {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	if n.runs {
		runs, err := n.ids.Take(ctx, count)
		for _, run := range runs {
			_, _ = fmt.Fprintln(n.out, run.First, run.N, run.Step)
		}
		return err
	}
	texts, err := n.ids.As(n.form).Take(ctx, count)
	for _, text := range texts {
		_, _ = fmt.Fprintln(n.out, text)
	}
	return err
}
