package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/info"
)

// operatorFlags are the flags of a command that asks the coordinator itself: the
// daemon's settings that say where that is, by their own names.
type operatorFlags struct {
	outside  *outside
	settings *settings
	client   *clientFlags // of the daemon that is asked for its coordinator
}

func newOperatorFlags(own paths, out *outside) *operatorFlags {
	return &operatorFlags{outside: out, settings: defaultSettings(own), client: newClientFlags(own)}
}

const (
	timeoutName    = "timeout"
	defaultTimeout = 10 * time.Second

	coordName = "coord"

	coordinatorSource = "Takes the coordinator from the daemon's settings: give the same --config, FLAKEWARD_* variables or flags.\n" +
		"With --socket and without --coord, the command asks that daemon which coordinator it uses. Times are compared with\n" +
		"this host's clock."
)

// settingsOf are the flags of those of the daemon's settings whose names are wanted.
func (f *operatorFlags) settingsOf(wanted func(name string) bool) []urfave.Flag {
	return slices.DeleteFunc(f.settings.flags(), func(flag urfave.Flag) bool { return !wanted(flag.Names()[0]) })
}

func (f *operatorFlags) flags() []urfave.Flag {
	return append(f.client.flags(), f.settingsOf(func(name string) bool {
		return name == coordName || strings.HasPrefix(name, coordName+"-")
	})...)
}

// locate has the settings name the coordinator of the daemon whose socket was given, if they name
// none.
func (f *operatorFlags) locate(c *urfave.Context) error {
	if !c.IsSet(socketName) || c.IsSet(coordName) {
		return nil
	}
	in, err := f.client.status(c.Context)
	if err != nil {
		return fmt.Errorf("the daemon cannot be asked for its coordinator, which --coord names as well: %w", err)
	}
	url, known := in.Get(info.Coordinator)
	if !known {
		return fmt.Errorf("the daemon at %s does not tell its coordinator: name that with --coord", f.client.socket)
	}
	if before, after, hidden := strings.Cut(url, "***@"); hidden {
		url = before + after
		if f.settings.daemon.Cluster.User == "" {
			return usagef("the coordinator %s of the daemon at %s asks for a user, which the daemon tells nobody: "+
				"give --coord-user and --coord-password-file, or the daemon's --config", url, f.client.socket)
		}
	}
	f.settings.daemon.Cluster.Coord = url
	return nil
}

// inspection is a connection to a coordinator.
type inspection struct {
	coord.Operator
	cluster cluster.Cluster // once it was joined
	hint    string          // what to do where there is no cluster
	where   string          // the coordinator's URL without secrets
	timeout time.Duration
	clock   clockguard.Clock
}

// open opens the coordinator that the settings name.
func (f *operatorFlags) open(ctx context.Context) (*inspection, error) {
	described, err := connect.Describe(f.settings.daemon.Cluster.Coord)
	if err != nil {
		return nil, usagef("--coord: %w", err)
	}
	hint := "check the coordinator's URL and its prefix"
	if described.Local {
		hint = "check that the directory is the daemon's: name it with --coord, or the daemon's socket with --socket"
	}
	v := &inspection{hint: hint, where: described.Text, timeout: f.client.timeout, clock: f.outside.clock}
	err = v.ask(ctx, func(ctx context.Context) (err error) {
		v.Operator, err = f.outside.operate(ctx, f.settings.daemon)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// inspect opens the coordinator and joins the cluster that is there.
func (f *operatorFlags) inspect(ctx context.Context) (*inspection, error) {
	v, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.join(ctx); err != nil {
		_ = v.Close() // the other error tells more
		return nil, err
	}
	return v, nil
}

// join finds out about the cluster that is there now.
func (v *inspection) join(ctx context.Context) error {
	return v.ask(ctx, func(ctx context.Context) error {
		found, err := v.Inspect(ctx)
		if err != nil {
			return err
		}
		v.cluster, err = cluster.Of(found)
		return err
	})
}

// actingCommand completes a command that changes what one argument names, at the coordinator that
// open returns.
func actingCommand(own paths, out *outside, command *urfave.Command, usage string,
	open func(*operatorFlags, context.Context) (*inspection, error), act func(*urfave.Context, *inspection, string) error,
) *urfave.Command {
	flags := newOperatorFlags(own, out)
	command.Flags = append(flags.flags(), yesFlag())
	command.Action = func(c *urfave.Context) error {
		name := c.Args().First()
		if c.NArg() != 1 || name == "" {
			return usagef("%s", usage)
		}
		return flags.on(c, func(ctx context.Context) (*inspection, error) { return open(flags, ctx) },
			func(v *inspection) error { return act(c, v, name) })
	}
	return withConfig(command)
}

// with carries out a command on an inspection.
func (f *operatorFlags) with(c *urfave.Context, do func(*inspection) error) error {
	return f.on(c, f.inspect, do)
}

// on carries out a command on what is opened.
func (f *operatorFlags) on(c *urfave.Context, open func(context.Context) (*inspection, error), do func(*inspection) error) error {
	if err := f.locate(c); err != nil {
		return err
	}
	v, err := open(c.Context)
	if err != nil {
		return err
	}
	err = do(v)
	if closing := v.Close(); closing != nil && err == nil {
		err = fmt.Errorf("leaving coordinator %s: %w", v.where, closing)
	}
	return err
}

// ask puts one question, which has --timeout for its answer.
func (v *inspection) ask(ctx context.Context, question func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	err := question(limited)
	var usage *usageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &usage):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, coord.ErrNoCluster):
		return fmt.Errorf("coordinator %s: %w: %s", v.where, err, v.hint)
	case limited.Err() != nil:
		return fmt.Errorf("coordinator %s did not answer within --timeout %v: %w", v.where, v.timeout, err)
	}
	return fmt.Errorf("coordinator %s: %w", v.where, err)
}

// now reads the clock.
func (v *inspection) now() time.Time { return time.Unix(0, v.clock.Now().Wall) }

// asked puts one question that has an answer.
func asked[T any](ctx context.Context, v *inspection, question func(context.Context) (T, error)) (answer T, err error) {
	err = v.ask(ctx, func(ctx context.Context) error {
		answer, err = question(ctx)
		return err
	})
	return answer, err
}

// change is ask for what changes something, and may have changed it where the answer is an error:
// unless that is one of those which say that it has not.
func (v *inspection) change(ctx context.Context, question func(context.Context) error) error {
	err := v.ask(ctx, question)
	if err == nil || errors.As(err, new(*coord.NarrowError)) {
		return err
	}
	for _, unchanged := range []error{coord.ErrOtherCluster, coord.ErrExport, coord.ErrNotEmpty} {
		if errors.Is(err, unchanged) {
			return err
		}
	}
	return fmt.Errorf("%w; whether it was done is not known, and to do it again does no harm: "+
		"fix that and run the command again; if there was no answer in time, with a longer --timeout", err)
}

// changed is change for what has an answer.
func changed[T any](ctx context.Context, v *inspection, question func(context.Context) (T, error)) (answer T, err error) {
	err = v.change(ctx, func(ctx context.Context) error {
		answer, err = question(ctx)
		return err
	})
	return answer, err
}

// outside is what commands reach beyond their own process, or stand-ins for it.
type outside struct {
	serve    Serve
	operate  func(ctx context.Context, config daemon.Config) (coord.Operator, error)
	clock    clockguard.Clock
	terminal func(stream any) bool // whether a person sits at a stream
	// synchronised is whether the kernel calls the clock synchronised.
	synchronised func() bool
}

// realOutside returns the real ones.
func realOutside(serve Serve) *outside {
	synchronised := func() bool {
		_, ok := new(clockguard.SystemKernel).Synchronised()
		return ok
	}
	return &outside{serve: serve, operate: operate, clock: clockguard.System{}, terminal: isTerminal, synchronised: synchronised}
}

// operate opens the coordinator that the daemon's configuration names.
func operate(ctx context.Context, config daemon.Config) (coord.Operator, error) {
	access, err := config.Access()
	var operator coord.Operator
	if err == nil {
		operator, err = connect.Operate(access)
	}
	if errors.As(err, new(*connect.ConfigError)) {
		err = &usageError{err}
	}
	return operator, err
}
