package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"
)

const yesName = "yes"

func yesFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: yesName, Usage: "do not ask for confirmation; required without a terminal"}
}

// errDeclined is what a command ends with that was not allowed to act.
var errDeclined = errors.New("nothing was done")

// longestThought is how long an answer may take. What was shown before is not true for ever.
const longestThought = time.Minute

// confirm asks whether to go on, unless --yes says so already.
func (o *outside) confirm(c *urfave.Context, question string) error {
	if c.Bool(yesName) {
		return nil
	}
	if !o.terminal(c.App.Reader) {
		return usagef("%s asks before it acts, and standard input is no terminal to ask on: --yes lets it act", commandName(c))
	}
	begun := o.clock.Now()
	fmt.Fprintf(c.App.ErrWriter, "%s [y/N] ", question)
	answer, err := readLine(c.Context, c.App.Reader)
	if err != nil {
		fmt.Fprintln(c.App.ErrWriter)
		return fmt.Errorf("%w: %w", errDeclined, err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
	default:
		return errDeclined
	}
	if took := o.clock.Now().Mono.Sub(begun.Mono); took > longestThought {
		return fmt.Errorf("%w: the answer took %v, and what is shown may be true no longer: run it again", errDeclined, took.Round(time.Second))
	}
	return nil
}

// readLine reads one line. No read from a terminal can be called off: one that is
// under way when ctx ends is left to end with the process, which is next.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type reply struct {
		line string
		err  error
	}
	read := make(chan reply, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		read <- reply{line, err}
	}()
	select {
	case r := <-read:
		if errors.Is(r.err, io.EOF) && r.line != "" {
			r.err = nil
		}
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
