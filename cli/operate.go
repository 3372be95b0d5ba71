package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon"
)

// operatorFlags are the flags of a command that asks the coordinator itself: the
// daemon's settings that say where that is, by their own names.
type operatorFlags struct {
	outside  *outside
	settings *settings
	timeout  *time.Duration
}

// newOperatorFlags makes flags whose --timeout is kept in timeout.
func newOperatorFlags(own paths, out *outside, timeout *time.Duration) *operatorFlags {
	return &operatorFlags{outside: out, settings: defaultSettings(own), timeout: timeout}
}

const (
	timeoutName    = "timeout"
	defaultTimeout = 10 * time.Second

	coordinatorSource = "The coordinator is the one that the daemon's settings name: give the same --config, FLAKEWARD_* variables or flags.\n" +
		"Without --coord, or with embedded:, it is that of the daemon whose --state-dir is given, running or not. Times are held against this host's clock."
)

// places are the settings without --timeout.
func (f *operatorFlags) places() []urfave.Flag {
	var flags []urfave.Flag
	for _, flag := range f.settings.flags() {
		if name := flag.Names()[0]; name == "coord" || strings.HasPrefix(name, "coord-") || name == "state-dir" {
			flags = append(flags, flag)
		}
	}
	return flags
}

func (f *operatorFlags) flags() []urfave.Flag {
	return append(f.places(), &urfave.GenericFlag{Name: timeoutName, Value: (*duration)(f.timeout),
		Usage: "give up when an answer takes longer than this"})
}

// visit is a connection to a coordinator whose cluster has been joined.
type visit struct {
	coord.Operator
	cluster cluster.Cluster
	where   string // the coordinator's URL without secrets
	name    string // the same for sentences, where embedded: stands before another colon
	timeout time.Duration
	clock   clockguard.Clock
}

// visit opens the coordinator and joins the cluster that is there.
func (f *operatorFlags) visit(ctx context.Context) (*visit, error) {
	described, err := connect.Describe(f.settings.daemon.Cluster.URL())
	if err != nil {
		return nil, usagef("--coord: %w", err)
	}
	v := &visit{where: described.Text, name: strings.TrimSuffix(described.Text, ":"), timeout: *f.timeout, clock: f.outside.clock}
	err = v.ask(ctx, func(ctx context.Context) (err error) {
		v.Operator, err = f.outside.operate(ctx, f.settings.daemon)
		return err
	})
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
func (v *visit) join(ctx context.Context) error {
	return v.ask(ctx, func(ctx context.Context) error {
		found, err := v.Visit(ctx)
		if err != nil {
			return err
		}
		v.cluster, err = cluster.Of(found)
		return err
	})
}

// with carries out a command on a visit.
func (f *operatorFlags) with(ctx context.Context, do func(*visit) error) error {
	v, err := f.visit(ctx)
	if err != nil {
		return err
	}
	err = do(v)
	if closing := v.Close(); closing != nil && err == nil {
		err = fmt.Errorf("leaving coordinator %s: %w", v.name, closing)
	}
	return err
}

// ask puts one question, which has --timeout for its answer.
func (v *visit) ask(ctx context.Context, question func(context.Context) error) error {
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
	case limited.Err() != nil:
		return fmt.Errorf("coordinator %s did not answer within --timeout %v: %w", v.name, v.timeout, err)
	}
	return fmt.Errorf("coordinator %s: %w", v.name, err)
}

// now reads the clock.
func (v *visit) now() time.Time { return time.Unix(0, v.clock.Now().Wall) }

// members, marks and history ask for what their names say.
func (v *visit) members(ctx context.Context) (members []coord.Member, err error) {
	err = v.ask(ctx, func(ctx context.Context) error {
		members, err = v.Members(ctx)
		return err
	})
	return members, err
}

func (v *visit) marks(ctx context.Context) (marks []coord.Mark, err error) {
	err = v.ask(ctx, func(ctx context.Context) error {
		marks, err = v.Marks(ctx)
		return err
	})
	return marks, err
}

func (v *visit) history(ctx context.Context, worker int) (history []coord.Interval, err error) {
	err = v.ask(ctx, func(ctx context.Context) error {
		history, err = v.History(ctx, worker)
		return err
	})
	return history, err
}

// outside is what commands reach beyond their own process, or stand-ins for it.
type outside struct {
	serve    Serve
	operate  func(ctx context.Context, config daemon.Config) (coord.Operator, error)
	clock    clockguard.Clock
	terminal func(stream any) bool // whether a person sits at a stream
}

// realOutside returns the real ones.
func realOutside(serve Serve) *outside {
	return &outside{serve: serve, operate: operate, clock: clockguard.System{}, terminal: isTerminal}
}

// operate opens the coordinator that the daemon's configuration names.
func operate(ctx context.Context, config daemon.Config) (coord.Operator, error) {
	access, err := config.Access()
	var operator coord.Operator
	if err == nil {
		operator, err = connect.Operate(ctx, access)
	}
	var wrong *connect.ConfigError
	switch {
	case errors.As(err, &wrong):
		return nil, &usageError{err}
	case err != nil:
		return nil, err
	}
	return operator, nil
}
