package cli

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/info"
)

// layoutFlags are the flags of a command that reads IDs of the daemon on this
// host, or of a layout that it is told.
type layoutFlags struct {
	*clientFlags
	text    string
	cluster string // the cluster's UUID: of --cluster-uuid, or else of the daemon that was asked for its layout
}

func newLayoutFlags(own paths) *layoutFlags {
	return &layoutFlags{clientFlags: newClientFlags(own), text: generator.DefaultLayout}
}

const (
	layoutName   = "layout"
	clusterName  = "cluster-uuid"
	layoutSource = "Without --layout, the command asks the daemon at --socket for its layout. Without a daemon it uses the\n" +
		"default layout, and says so."
)

func (f *layoutFlags) flags() []urfave.Flag {
	return append(f.clientFlags.flags(),
		&urfave.StringFlag{Name: layoutName, Destination: &f.text, Value: f.text, DefaultText: "the daemon's", Usage: layoutUsage},
		&urfave.StringFlag{Name: clusterName, Destination: &f.cluster, DefaultText: "the daemon's",
			Usage: "use this cluster `UUID` for IDs in the form uuid, such as an earlier cluster's"})
}

// layout finds the layout to go by. That there is no daemon to ask is no error, but said to the
// error output.
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

// ids finds the layout to go by, as layout does, and the form that IDs are in.
func (f *layoutFlags) ids(c *urfave.Context) (*ids, error) {
	if c.IsSet(clusterName) {
		u, err := uuid.Parse(f.cluster)
		if err != nil {
			return nil, usagef("--%s: %q is not a cluster's UUID: take the cluster_id that `flakeward status` showed", clusterName, f.cluster)
		}
		f.cluster = u.String()
	}
	layout, err := f.layout(c)
	if err != nil {
		return nil, err
	}
	return newIDs(c, layout, f.cluster)
}

// ask asks the daemon for its layout.
func (f *layoutFlags) ask(c *urfave.Context) (*generator.Layout, error) {
	in, err := f.status(c.Context)
	if err != nil {
		return nil, err
	}
	if f.cluster == "" {
		f.cluster, _ = in.Get(info.Cluster)
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
