package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/move"
	"github.com/flakeward/flakeward/generator"
)

const abortName = "abort"

func moveCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:      "move",
		Usage:     "move a cluster to another coordinator while its daemons issue IDs",
		ArgsUsage: "FROM TO",
		Description: "FROM and TO are coordinators' URLs as in the daemon's --coord; TO has no cluster, or the one that was moved away from there\n" +
			"before. With embedded: as FROM it is the cluster of the daemon whose --state-dir is given, running or not.\n" +
			"The cluster keeps its UUID, its worker IDs and all their marks. From the moment that FROM is sealed it grants nothing more,\n" +
			"and daemons issue to the end of their grants, up to a --window. Start each of them again with TO as its --coord before\n" +
			"that; the command says until when. With --takeover no request fails; with a restart it is away as at any restart.\n" +
			"A move that was cut off is gone on with by the same command. Until all is copied, --abort takes it back.\n" +
			"TLS, user and password are the same for both coordinators; a URL may have a user of its own. Use the daemons' user.\n",
		Flags: append(flags.distant(), &urfave.BoolFlag{Name: abortName, Usage: "take back a move that was cut off"}, yesFlag()),
		Action: func(c *urfave.Context) error {
			if c.NArg() != 2 {
				return usagef("move takes the URLs of two coordinators: the one to leave and the one to go to")
			}
			v, err := flags.moveBetween(c.Context, c.Args().Get(0), c.Args().Get(1))
			if err != nil {
				return err
			}
			err = v.run(c, out)
			return errors.Join(err, v.close())
		},
	})
}

// moveView is one run of move.
type moveView struct {
	move.Move
	from, to *inspection // of no joined cluster
}

// moveBetween opens both coordinators.
func (f *operatorFlags) moveBetween(ctx context.Context, from, to string) (*moveView, error) {
	if connect.Within(to, from) {
		return nil, usagef("TO: its tree lies within that of FROM, which is deleted after the move: give a prefix or chroot beside it")
	}
	v := &moveView{}
	for _, side := range []struct {
		what string
		url  string
		side *move.Side
		view **inspection
	}{{"FROM", from, &v.From, &v.from}, {"TO", to, &v.To, &v.to}} {
		described, err := connect.Describe(side.url)
		if err == nil && described.Embedded && side.what == "TO" {
			err = errors.New("an embedded coordinator serves one state directory only: name an etcd or a ZooKeeper")
		}
		if err != nil {
			return nil, errors.Join(usagef("%s: %w", side.what, err), v.close())
		}
		f.settings.daemon.Cluster.Coord = side.url
		view := f.view(described)
		if err := view.open(ctx, f); err != nil {
			return nil, errors.Join(err, v.close())
		}
		*side.view = view
		movable, ok := view.Operator.(coord.Movable)
		if !ok {
			return nil, errors.Join(fmt.Errorf("coordinator %s moves nothing", view.name), v.close())
		}
		*side.side = move.Side{Mover: movable.Mover(), URL: described.Text}
	}
	v.ID = rand.Text()
	return v, nil
}

func (v *moveView) close() (err error) {
	for _, side := range []*inspection{v.from, v.to} {
		if side == nil {
			continue
		}
		if closing := side.Close(); closing != nil {
			err = errors.Join(err, fmt.Errorf("leaving coordinator %s: %w", side.name, closing))
		}
	}
	return err
}

func (v *moveView) run(c *urfave.Context, out *outside) error {
	w := c.App.Writer
	v.Step = func(text string) { fmt.Fprintln(w, text) }
	if c.Bool(abortName) {
		if err := out.confirm(c, fmt.Sprintf("Take back the move from %s to %s?", v.From.URL, v.To.URL)); err != nil {
			return err
		}
		aborted, err := v.Abort(c.Context)
		if err == nil && !aborted {
			_, err = fmt.Fprintf(w, "nothing to take back: %s serves its cluster\n", v.From.URL)
		}
		return err
	}
	var from coord.Place
	err := v.from.ask(c.Context, func(ctx context.Context) (err error) {
		from, _, err = v.Check(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := v.announce(w, from); err != nil {
		return err
	}
	if err := out.confirm(c, "Move it?"); err != nil {
		return err
	}
	r, err := v.Run(c.Context)
	if refused := (*move.RefusedError)(nil); err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("the move is cut off, which does no harm: run it again, or with --%s: %w", abortName, err)
	}
	if err != nil {
		return err
	}
	return v.report(w, from, r)
}

// announce says what would be done.
func (v *moveView) announce(w io.Writer, from coord.Place) error {
	_, err := fmt.Fprintf(w, "cluster  %s\nfrom     %s (%s)\nto       %s\n"+
		"The coordinator that is left grants nothing more. Daemons issue to the end of their grants, and have to be started again\n"+
		"with the other one before that.\n", from.UUID, v.From.URL, from.Stage, v.To.URL)
	return err
}

// report says what was done, and until when the daemons have to follow.
func (v *moveView) report(w io.Writer, from coord.Place, r move.Result) error {
	if _, err := fmt.Fprintf(w, "\nmoved: cluster %s is at %s, with %d worker IDs\n", r.UUID, v.To.URL, r.Records); err != nil {
		return err
	}
	if r.Ends == 0 {
		_, err := fmt.Fprintln(w, "no daemon holds a worker ID at the coordinator that was left: there is nothing to start again")
		return err
	}
	found, err := cluster.Of(coord.Inspected{Layout: from.Layout, UUID: from.UUID})
	if err != nil {
		return err
	}
	ends := found.Layout.StartOf(r.Ends + generator.Tick(1))
	left := ends.Sub(v.from.now())
	if left <= 0 {
		_, err = fmt.Fprintf(w, "the first grant has ended (%s): a daemon whose grant has ended issues nothing\n"+
			"next: start each daemon again with --coord %s, now\n", cluster.Time(ends), v.To.URL)
		return err
	}
	_, err = fmt.Fprintf(w, "the first daemon runs out of its grant at %s, in %s\n"+
		"next: start each daemon again before that, with --coord %s\n"+
		"stall: none by --takeover; by a stop and a start, until the daemon serves again\n", cluster.Time(ends), cluster.Span(left), v.To.URL)
	return err
}
