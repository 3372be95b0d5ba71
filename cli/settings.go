package cli

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/configfile"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// settings is all that a daemon can be told. Each has one name, which is its flag, its key in a
// configuration file, and, in capitals behind FLAKEWARD_, its variable.
type settings struct {
	daemon   daemon.Config
	logLevel string
	logJSON  bool
	logFile  string
}

func defaultSettings(p paths) *settings {
	config := daemon.DefaultConfig()
	config.Socket.Path, config.Cluster.Coord = p.socket, p.coordinator()
	return &settings{daemon: config, logLevel: "info"}
}

// flags are the flags that fill in s; what s holds before is their default.
func (s *settings) flags() []urfave.Flag {
	c := &s.daemon
	return []urfave.Flag{
		socketFlag(&c.Socket.Path),
		&urfave.GenericFlag{Name: "socket-mode", Value: (*fileMode)(&c.Socket.Mode), Category: "Socket",
			Usage: "set the socket file's permission `BITS`, in octal: they decide who may connect"},
		&urfave.StringFlag{Name: "socket-group", Destination: &c.Socket.Group, Value: c.Socket.Group, Category: "Socket", DefaultText: "the process's",
			Usage: "set the socket file's `GROUP`, by name or number"},
		&urfave.IntFlag{Name: "max-connections", Destination: &c.Socket.MaxConnections, Value: c.Socket.MaxConnections, Category: "Socket",
			Usage: "limit the `NUMBER` of open connections"},
		&urfave.IntFlag{Name: "max-count", Destination: &c.Socket.MaxCount, Value: c.Socket.MaxCount, Category: "Socket",
			Usage: "limit the `NUMBER` of IDs in one request"},

		&urfave.DurationFlag{Name: "idle-timeout", Destination: &c.Socket.IdleTimeout, Value: c.Socket.IdleTimeout, Category: "Socket", DefaultText: "never",
			Usage: "close a connection without a request for this `DURATION`; 0: never, over HTTP 2m"},
		&urfave.GenericFlag{Name: "allow-uid", Value: (*numbers)(&c.Socket.AllowUIDs), Category: "Socket", DefaultText: "everybody who can open the socket",
			Usage: "accept only these users, root and the daemon's own: `UIDS`, separated by commas"},
		&urfave.GenericFlag{Name: "allow-gid", Value: (*numbers)(&c.Socket.AllowGIDs), Category: "Socket",
			Usage: "also accept users with these main groups: `GIDS`, separated by commas; a user's other groups do not count"},
		&urfave.GenericFlag{Name: "memory", Value: (*size)(&c.Memory), Category: "Socket", DefaultText: "three quarters of the cgroup's limit, or 512MiB without one",
			Usage: "limit the process's memory to this `SIZE`, such as 256MiB: requests that need more are rejected"},

		&urfave.StringFlag{Name: "listen", Destination: &c.Listen.Address, Value: c.Listen.Address, Category: "Address", DefaultText: "none",
			Usage: "serve the same in clear on this `ADDRESS` of TCP, such as 127.0.0.1:7070; one that other hosts can reach needs --password-file"},
		&urfave.PathFlag{Name: "password-file", Destination: &c.Listen.PasswordFile, Value: c.Listen.PasswordFile, Category: "Address", DefaultText: "none",
			Usage: "require the password in this `FILE` there, by AUTH or HTTP Basic, except on /metrics, /livez and /readyz; SIGHUP reloads it"},

		&urfave.StringFlag{Name: "layout", Destination: &c.IDs.Layout, Value: c.IDs.Layout, Category: "IDs",
			Usage: layoutUsage},
		&urfave.Uint64Flag{Name: "datacenter", Destination: &c.IDs.Datacenter, Value: c.IDs.Datacenter, Category: "IDs",
			Usage: "set the layout's datacenter field, to the same `NUMBER` on all hosts of a cluster"},
		&urfave.StringFlag{Name: "sequence-start", Destination: &c.IDs.SequenceStart, Value: c.IDs.SequenceStart, Category: "IDs",
			Usage: "choose each tick's first sequence number, a `START`: zero, or rolling (where the last tick stopped: id % N is even at low rates, too)"},

		&urfave.StringFlag{Name: "form", Destination: &c.IDs.Form, Value: c.IDs.Form, Category: "IDs",
			Usage: "write IDs in this `FORM` where a connection asks for none: " + strings.Join(form.Names(), ", ")},

		&urfave.StringFlag{Name: "coord", Destination: &c.Cluster.Coord, Value: c.Cluster.Coord, Category: "Cluster",
			Usage: "use the coordinator at this `URL`: etcd://h1:2379,h2:2379/prefix, zk://h1:2181,h2:2181/chroot, or dir:/path for the daemons of one host"},
		&urfave.BoolFlag{Name: "require-coord", Destination: &c.Cluster.RequireCoord, Value: c.Cluster.RequireCoord, Category: "Cluster",
			Usage: "refuse to start without etcd or ZooKeeper, for fleets of hosts and pods"},
		&urfave.PathFlag{Name: "coord-ca", Destination: &c.Cluster.TLS.CA, Value: c.Cluster.TLS.CA, Category: "Cluster", DefaultText: "with --coord-cert the system's, without it no TLS",
			Usage: "connect to the coordinator by TLS, and trust the authorities in this `FILE` (PEM); SIGHUP reloads it"},
		&urfave.PathFlag{Name: "coord-cert", Destination: &c.Cluster.TLS.Cert, Value: c.Cluster.TLS.Cert, Category: "Cluster",
			Usage: "show the coordinator the certificate in this `FILE` (PEM); each new connection reads it again"},
		&urfave.PathFlag{Name: "coord-key", Destination: &c.Cluster.TLS.Key, Value: c.Cluster.TLS.Key, Category: "Cluster",
			Usage: "read that certificate's key from this `FILE` (PEM)"},
		&urfave.StringFlag{Name: "coord-user", Destination: &c.Cluster.User, Value: c.Cluster.User, Category: "Cluster",
			Usage: "log in to the coordinator as this `USER`"},
		&urfave.PathFlag{Name: "coord-password-file", Destination: &c.Cluster.PasswordFile, Value: c.Cluster.PasswordFile, Category: "Cluster",
			Usage: "read that user's password from this one-line `FILE`; only the daemon's user may read it; SIGHUP reloads it"},
		&urfave.StringFlag{Name: "host", Destination: &c.Host, Value: c.Host, Category: "Cluster", DefaultText: "the system's host name",
			Usage: "use this `NAME` for the host; a start under the same name prefers the last worker ID"},
		&urfave.DurationFlag{Name: "ttl", Destination: &c.Cluster.TTL, Value: c.Cluster.TTL, Category: "Cluster",
			Usage: "keep a worker ID for this `DURATION` after its daemon is gone"},

		&urfave.BoolFlag{Name: takeoverName, Destination: &c.Takeover, Value: c.Takeover, Category: "Socket",
			Usage: "take over from the daemon that runs on this socket, with its connections; start as usual if none runs"},
		&urfave.BoolFlag{Name: "takeover-stay", Destination: &c.TakeoverStay, Value: c.TakeoverStay, Category: "Socket",
			Usage: "after another daemon took over, wait to be stopped, for supervisors that restart what exits"},
		&urfave.DurationFlag{Name: "window", Destination: &c.Grant.Window, Value: c.Grant.Window, Category: "Cluster", DefaultText: "10m, or 2m for layouts with fewer than 1,024 worker IDs",
			Usage: "create a cluster that grants at most this `DURATION` ahead: IDs go on for so long at most without the coordinator; cluster set changes it"},
		&urfave.DurationFlag{Name: "publish", Destination: &c.Grant.Publish, Value: c.Grant.Publish, Category: "Cluster",
			Usage: "extend the grant at this `INTERVAL` while IDs are issued"},
		&urfave.DurationFlag{Name: "restart-wait", Destination: &c.RestartWait, Value: c.RestartWait, Category: "Cluster",
			Usage: "wait up to this `DURATION`, at least two ticks, for the last worker ID's high-water mark at a start; beyond it, take another worker ID"},

		&urfave.DurationFlag{Name: "max-sleep", Destination: &c.Waiting.MaxSleep, Value: c.Waiting.MaxSleep, Category: "Waiting",
			Usage: "wait for a clock that was set back by up to this `DURATION`"},
		&urfave.DurationFlag{Name: "max-block", Destination: &c.Waiting.MaxBlock, Value: c.Waiting.MaxBlock, Category: "Waiting",
			Usage: "reject a request that has waited for this `DURATION`"},
		&urfave.DurationFlag{Name: "burst", Destination: &c.Waiting.Burst, Value: c.Waiting.Burst, Category: "Waiting", DefaultText: "none",
			Usage: "when a tick has too few numbers, use those left over from the last `DURATION`, up to 2s, instead of waiting"},

		&urfave.StringFlag{Name: "rate", Destination: &c.Waiting.Rate, Value: c.Waiting.Rate, Category: "Waiting", DefaultText: "no limit",
			Usage: "limit the IDs of each user (UID) to this `RATE`: 100000/s, or 100000/s+20000 with that burst"},

		&urfave.DurationFlag{Name: "forward-hold", Destination: &c.Time.ForwardHold, Value: c.Time.ForwardHold, Category: "Clock",
			Usage: "follow a clock that stepped forward by more than a second in sum after this `DURATION` if the cluster has no member on another host, and the kernel does not call the clock synchronised"},
		&urfave.BoolFlag{Name: "trust-clock", Destination: &c.Time.Trust, Value: c.Time.Trust, Category: "Clock",
			Usage: "follow the system's clock in any case; a wrong clock then makes IDs with a wrong time"},

		&urfave.GenericFlag{Name: "order", Value: (*order)(&c.Time.Strict), Category: "Clock",
			Usage: "where the clock goes back, keep each connection's `ORDER`: time (follow the clock: IDs may go down) or strict (they never do: go on at half the pace until the clock has caught up)"},

		&urfave.PathFlag{Name: "log-file", Destination: &s.logFile, Value: s.logFile, Category: "Log", DefaultText: "standard error",
			Usage: "append the log to this `FILE`; SIGHUP reopens it"},
		&urfave.StringFlag{Name: "log-level", Destination: &s.logLevel, Value: s.logLevel, Category: "Log",
			Usage: "log from this `LEVEL` on: " + strings.Join(logLevels, ", ") + ", or off"},
		&urfave.BoolFlag{Name: "log-json", Destination: &s.logJSON, Value: s.logJSON, Category: "Log",
			Usage: "log JSON, one object a line"},
	}
}

const (
	socketName  = "socket"
	layoutUsage = "build IDs by this `LAYOUT`: a preset such as twitter, twitter;epoch=2026-01-01, or the full form (flakeward layout --list)"
)

func socketFlag(path *string) urfave.Flag {
	return &urfave.PathFlag{Name: socketName, Destination: path, Value: *path, Category: "Socket",
		Usage: "use the daemon's Unix socket at this `PATH`"}
}

// settingNames are the names of all settings. Each command asks for them, and the library takes
// names apart by a regular expression.
var settingNames = sync.OnceValue(func() []string {
	var names []string
	for _, f := range defaultSettings(paths{}).flags() {
		names = append(names, f.Names()[0])
	}
	return slices.Clip(names)
})

const configName = "config"

// withConfig completes a command whose flags are settings, or some of them: each
// flag gets its variable, --config is added, and what the file says is filled
// in where neither flag nor variable did.
func withConfig(command *urfave.Command) *urfave.Command {
	command.Flags = append(command.Flags, &urfave.PathFlag{
		Name: configName, Usage: "read settings from this YAML `FILE`, by the flags' names; flags and variables override it",
	})
	names := append(settingNames(), configName)
	for _, f := range command.Flags {
		if name := f.Names()[0]; slices.Contains(names, name) {
			setVariable(f, variable(name))
		}
	}
	flags := command.Flags // those that a command appends have nothing to do with the settings
	command.Before = func(c *urfave.Context) error { return fillIn(c, flags) }
	return command
}

// setVariable gives a flag its environment variable. One that is set to nothing
// counts as not set; the library would take it for an empty text.
func setVariable(f urfave.Flag, name string) {
	if value, ok := os.LookupEnv(name); ok && value == "" {
		return
	}
	fieldOf(f, "EnvVars").Set(reflect.ValueOf([]string{name}))
}

// fieldOf is a field that the library's flags have in common, each kind for itself.
func fieldOf(f urfave.Flag, name string) reflect.Value {
	return reflect.ValueOf(f).Elem().FieldByName(name)
}

// fillIn reads the file that --config names into those of flags that are not set. A variable that
// is nearly one of a setting is an error, as such a name in the file is.
func fillIn(c *urfave.Context, flags []urfave.Flag) error {
	if _, err := strangeVariables(os.Environ()); err != nil {
		return err
	}
	path := c.Path(configName)
	if path == "" {
		return nil
	}
	values, err := configfile.Read(path, settingNames())
	if values == nil {
		return &usageError{err}
	}
	errs := []error{err} // all at once: who fixes a file fixes all of it
	for _, f := range flags {
		name := f.Names()[0]
		value, given := values[name]
		if !given || c.IsSet(name) {
			continue
		}
		if err := c.Set(name, value.Text); err != nil {
			errs = append(errs, &configfile.Error{Path: path, Line: value.Line,
				Err: fmt.Errorf("%s: %q is not %s", name, value.Text, wanted(f))})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &usageError{err}
	}
	return nil
}

// wanted says what a flag's value looks like.
func wanted(f urfave.Flag) string {
	switch f := f.(type) {
	case *urfave.IntFlag, *urfave.Uint64Flag:
		return "a whole number in range"
	case *urfave.BoolFlag:
		return "true or false"
	case *urfave.DurationFlag:
		return "a duration: write a number with a unit, such as 3s or 500ms"
	case *urfave.GenericFlag:
		if value, ok := f.Value.(interface{ wanted() string }); ok {
			return value.wanted()
		}
	}
	return "a text"
}

// parseLayout reads the layout that a flag or an argument gave.
func parseLayout(text string) (*generator.Layout, error) {
	layout, err := generator.ParseLayout(text)
	if err != nil {
		return nil, &usageError{err}
	}
	return layout, nil
}
