package cli

import (
	"errors"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/info"
)

// layoutFlags are the flags of a command that reads IDs of the daemon on this
// host, or of a layout that it is told.
type layoutFlags struct {
	*clientFlags
	text string
}

func newLayoutFlags(own paths) *layoutFlags {
	return &layoutFlags{clientFlags: newClientFlags(own), text: generator.DefaultLayout}
}

const (
	layoutName   = "layout"
	layoutSource = "Without --layout, the daemon at --socket is asked for its layout; if there is none,\n" +
		"the default layout is used, and said so."
)

func (f *layoutFlags) flags() []urfave.Flag {
	return append(f.clientFlags.flags(),
		&urfave.StringFlag{Name: layoutName, Destination: &f.text, Value: f.text, DefaultText: "the daemon's", Usage: layoutUsage})
}

// layout finds the layout to go by. That there is no daemon to ask is no error,
// but said to the error output.
func (f *layoutFlags) layout(c *urfave.Context) (*generator.Layout, error) {
	if c.IsSet(layoutName) {
		return parseLayout(f.text)
	}
	layout, err := f.ask(c)
	if errors.Is(err, errNoDaemon) {
		fmt.Fprintf(c.App.ErrWriter, "flakeward: %v\nflakeward: going by the default layout, %s; --layout names another\n", err, f.text)
		return parseLayout(f.text)
	}
	return layout, err
}

// ask asks the daemon for its layout.
func (f *layoutFlags) ask(c *urfave.Context) (*generator.Layout, error) {
	client := f.open(c.Context)
	defer client.close()
	in, err := client.status(c.Context)
	if err != nil {
		return nil, err
	}
	text, ok := in.Get(info.Layout)
	if !ok {
		return nil, fmt.Errorf("the daemon at %s does not tell its layout: name it with --layout", f.socket)
	}
	layout, err := generator.ParseLayout(text)
	if err != nil {
		return nil, fmt.Errorf("the daemon at %s has a layout not understood here: %w; is it of this version?", f.socket, err)
	}
	return layout, nil
}
