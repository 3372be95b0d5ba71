package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
)

// shortestInterval keeps a watch from becoming a load on the coordinator.
const shortestInterval = 100 * time.Millisecond

// interval is the value of a flag that may stand alone or name how often.
type interval struct {
	on    bool
	every time.Duration
}

// Set reads true and false, which is what a flag without a value is given, or a
// duration.
func (i *interval) Set(text string) error {
	if on, err := strconv.ParseBool(text); err == nil {
		i.on = on
		return nil
	}
	if err := (*duration)(&i.every).Set(text); err != nil {
		return err
	}
	if i.every < shortestInterval {
		return fmt.Errorf("%v is too short: take %v or more", i.every, shortestInterval)
	}
	i.on = true
	return nil
}

func (i *interval) String() string { return i.every.String() }

// IsBoolFlag tells package flag that the flag may stand alone.
func (i *interval) IsBoolFlag() bool { return true }

// loneFlag is a flag whose value, if it has one, is never the next word.
type loneFlag struct{ *urfave.GenericFlag }

// TakesValue and String are the embedded flag's otherwise, and say that it does.
func (loneFlag) TakesValue() bool { return false }

func (f loneFlag) String() string { return urfave.FlagStringer(f) }

func (i *interval) flag(usage string) urfave.Flag {
	return loneFlag{&urfave.GenericFlag{Name: "watch", Value: i, Usage: usage, DefaultText: "once"}}
}

// watch shows a cluster again and again, through outages of its coordinator.
type watch struct {
	flags    *operatorFlags
	every    time.Duration
	json     bool
	terminal bool // redraw instead of printing one block after the other
	out      io.Writer
	complain io.Writer

	inspection *inspection // nil: to be opened
	last       []byte      // what was shown last
	rounds     int
}

// run goes on until ctx ends, which is no error.
func (w *watch) run(ctx context.Context) error {
	defer w.leave()
	for {
		found, err := w.look(ctx)
		var usage *usageError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &usage):
			return err
		case err != nil:
			err = w.failed(err)
		default:
			err = w.show(found)
		}
		if err != nil {
			return fmt.Errorf("writing the status: %w", err)
		}
		if w.flags.outside.clock.Sleep(ctx, w.every) != nil {
			return nil
		}
	}
}

// look asks for the members, over the connection that worked last if there is one.
func (w *watch) look(ctx context.Context) (found cluster.Status, err error) {
	if w.inspection == nil {
		if w.inspection, err = w.flags.inspect(ctx); err != nil {
			return found, err
		}
	} else if err = w.inspection.join(ctx); err != nil {
		w.leave()
		return found, err
	}
	members, err := w.inspection.members(ctx)
	if err != nil {
		w.leave()
		return found, err
	}
	return cluster.StatusOf(w.inspection.cluster, w.inspection.now(), members), nil
}

// leave gives the connection up. That it ends badly is nothing to anybody.
func (w *watch) leave() {
	if w.inspection != nil {
		_ = w.inspection.Close()
		w.inspection = nil
	}
}

// eraseScreen is ECMA-48: cursor to the upper left, erase to the end of the screen.
const eraseScreen = "\x1b[H\x1b[2J"

func (w *watch) show(found cluster.Status) error {
	var block bytes.Buffer
	if err := show(&block, w.json, found); err != nil {
		return err
	}
	w.last = block.Bytes()
	switch {
	case w.json:
		return w.print(w.last)
	case w.terminal:
		return w.print([]byte(eraseScreen), w.heading(), w.last)
	case w.rounds > 0:
		return w.print([]byte("\n"), w.heading(), w.last)
	}
	return w.print(w.heading(), w.last)
}

// failed shows an error, above what was found out last where that is erased.
func (w *watch) failed(err error) error {
	text := fmt.Appendf(nil, "flakeward: %v; trying again every %v\n", err, w.every)
	if !w.terminal {
		_, err := w.complain.Write(text)
		return err
	}
	if w.last == nil {
		return w.print([]byte(eraseScreen), w.heading(), text)
	}
	return w.print([]byte(eraseScreen), w.heading(), text, []byte("\nthe last answer:\n"), w.last)
}

func (w *watch) heading() []byte {
	now := time.Unix(0, w.flags.outside.clock.Now().Wall)
	return fmt.Appendf(nil, "%s, every %v\n", cluster.Time(now), w.every)
}

// print writes all at once, so that a redraw does not flicker.
func (w *watch) print(parts ...[]byte) error {
	w.rounds++
	_, err := w.out.Write(bytes.Join(parts, nil))
	return err
}
