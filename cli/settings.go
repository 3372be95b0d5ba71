package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/configfile"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// settings is all that a daemon can be told. Each has one name, which is its
// flag, its key in a configuration file, and, in capitals behind FLAKEWARD_, its
// variable.
type settings struct {
	daemon   daemon.Config
	logLevel string
	logJSON  bool
	logFile  string
}

func defaultSettings(p paths) *settings {
	config := daemon.DefaultConfig()
	config.Socket.Path, config.StateDir, config.Cluster.Coord = p.socket, p.stateDir, ""
	return &settings{daemon: config, logLevel: "info"}
}

// flags are the flags that fill in s; what s holds before is their default.
func (s *settings) flags() []urfave.Flag {
	c := &s.daemon
	return append([]urfave.Flag{
		socketFlag(&c.Socket.Path),
		&urfave.GenericFlag{Name: "socket-mode", Value: (*fileMode)(&c.Socket.Mode), Category: "Socket",
			Usage: "permission bits of the socket file, in octal: who may connect"},
		&urfave.StringFlag{Name: "socket-group", Destination: &c.Socket.Group, Value: c.Socket.Group, Category: "Socket",
			Usage: "group of the socket file, a name or a number; empty: the process's own"},
		&urfave.IntFlag{Name: "max-connections", Destination: &c.Socket.MaxConnections, Value: c.Socket.MaxConnections, Category: "Socket",
			Usage: "connections served at once"},
		&urfave.IntFlag{Name: "max-count", Destination: &c.Socket.MaxCount, Value: c.Socket.MaxCount, Category: "Socket",
			Usage: "IDs that one request may ask for"},

		&urfave.GenericFlag{Name: "idle-timeout", Value: (*duration)(&c.Socket.IdleTimeout), Category: "Socket",
			Usage: "close a connection that has asked for nothing for this long; 0: never"},
		&urfave.GenericFlag{Name: "allow-uid", Value: (*numbers)(&c.Socket.AllowUIDs), Category: "Socket",
			Usage: "only these users may connect, `UIDS` with commas between them, besides root and the daemon's own; empty: everybody who can open the socket"},
		&urfave.GenericFlag{Name: "allow-gid", Value: (*numbers)(&c.Socket.AllowGIDs), Category: "Socket",
			Usage: "users with these main groups may connect as well, `GIDS` with commas between them; other groups of a user are not known"},
		&urfave.PathFlag{Name: "pod-sockets", Destination: &c.Socket.Pods, Value: c.Socket.Pods, Category: "Socket",
			Usage: "`DIRECTORY` in which each pod that has a directory gets a socket of its own, and counts as a user by its name; empty: there are none"},
		&urfave.GenericFlag{Name: "memory", Value: (*size)(&c.Memory), Category: "Socket",
			Usage: "how much memory the process may use, a `SIZE` such as 256MiB: clients and tenants that need more are refused; 0: three quarters of the cgroup's limit, or 512MiB without one"},

		&urfave.StringFlag{Name: "compat", Destination: &c.Compat, Value: c.Compat, Category: "Socket",
			Usage: "answer HTTP on the paths of these ID `SERVICES` as well, in their form: leaf, tinyid, uid-generator, with commas between; empty: of none"},

		&urfave.StringFlag{Name: "admin", Destination: &c.Admin.Address, Value: c.Admin.Address, Category: "Admin",
			Usage: "answer HTTP on this `ADDRESS` as well, without IDs: 127.0.0.1:7070; one that is not of this host alone needs TLS, and --admin-client-ca or --admin-token-file; empty: on none"},
		&urfave.BoolFlag{Name: "admin-ids", Destination: &c.Admin.IDs, Value: c.Admin.IDs, Category: "Admin",
			Usage: "issue IDs on that address, too"},
		&urfave.PathFlag{Name: "admin-cert", Destination: &c.Admin.Cert, Value: c.Admin.Cert, Category: "Admin",
			Usage: "`FILE` (PEM) of the certificate to show there, read again on SIGHUP; empty: no TLS"},
		&urfave.PathFlag{Name: "admin-key", Destination: &c.Admin.Key, Value: c.Admin.Key, Category: "Admin",
			Usage: "`FILE` (PEM) of that certificate's key"},
		&urfave.PathFlag{Name: "admin-client-ca", Destination: &c.Admin.ClientCA, Value: c.Admin.ClientCA, Category: "Admin",
			Usage: "`FILE` (PEM) of the authorities that sign clients' certificates, without which nobody is answered there; read again on SIGHUP"},
		&urfave.PathFlag{Name: "admin-token-file", Destination: &c.Admin.TokenFile, Value: c.Admin.TokenFile, Category: "Admin",
			Usage: "`FILE` with the token that clients send there as Authorization: Bearer, read again on SIGHUP; /livez and /readyz need none"},

		&urfave.StringFlag{Name: "layout", Destination: &c.IDs.Layout, Value: c.IDs.Layout, Category: "IDs",
			Usage: layoutUsage},
		&urfave.Uint64Flag{Name: "datacenter", Destination: &c.IDs.Datacenter, Value: c.IDs.Datacenter, Category: "IDs",
			Usage: "number for the layout's datacenter field, the same on all hosts of a cluster"},
		&urfave.IntFlag{Name: "lanes", Destination: &c.IDs.Lanes, Value: c.IDs.Lanes, Category: "IDs",
			Usage: "worker IDs to hold and to issue from, 1 to 64; connections are balanced over them"},
		&urfave.StringFlag{Name: "worker-range", Destination: &c.IDs.WorkerRange, Value: c.IDs.WorkerRange, Category: "IDs",
			Usage: "the worker IDs that the cluster assigns, `LOW-HIGH`, where another generator has the others: the first daemon makes the cluster so, and a cluster that is otherwise is refused; empty: all, or whichever the cluster has"},
		&urfave.Uint64Flag{Name: "above-id", Destination: &c.IDs.AboveID, Value: c.IDs.AboveID, Category: "IDs",
			Usage: "the last `ID` of another generator, read by the layout: the first daemon makes a cluster whose IDs are all higher, and one that was made without is refused; 0: none"},
		&urfave.StringFlag{Name: "sequence-start", Destination: &c.IDs.SequenceStart, Value: c.IDs.SequenceStart, Category: "IDs",
			Usage: "at which number a tick begins, a `START`: rolling (where the last one stopped, so that id % N is even at low rates as well) or zero"},

		&urfave.StringFlag{Name: "form", Destination: &c.IDs.Form, Value: c.IDs.Form, Category: "IDs",
			Usage: "how IDs are written on a connection that asks for no form, a `FORM`: " + strings.Join(form.Names(), ", ")},
		&urfave.PathFlag{Name: "public-keys", Destination: &c.IDs.PublicKeys, Value: c.IDs.PublicKeys, Category: "IDs",
			Usage: "`FILE` of the keys of public IDs, the current one first, readable by the daemon alone; read again on SIGHUP"},

		&urfave.StringFlag{Name: "coord", Destination: &c.Cluster.Coord, Value: c.Cluster.Coord, Category: "Cluster",
			Usage: "the coordinator's `URL`: etcd://h1:2379,h2:2379/prefix, zk://h1:2181,h2:2181/chroot, or embedded: (IDs are unique within one state directory only); " +
				"empty: embedded: as well, but refused beside another daemon without one, of this user or network namespace"},
		&urfave.BoolFlag{Name: "require-coord", Destination: &c.Cluster.RequireCoord, Value: c.Cluster.RequireCoord, Category: "Cluster",
			Usage: "refuse to start with an embedded coordinator, also where --coord names none: for pods and fleets of hosts, each of which would be a cluster of its own"},
		&urfave.BoolFlag{Name: "coord-tls", Destination: &c.Cluster.TLS.On, Value: c.Cluster.TLS.On, Category: "Cluster",
			Usage: "speak TLS to the coordinator; any of --coord-ca, --coord-cert, --coord-key and --coord-server-name asks for it, too"},
		&urfave.PathFlag{Name: "coord-ca", Destination: &c.Cluster.TLS.CA, Value: c.Cluster.TLS.CA, Category: "Cluster",
			Usage: "`FILE` (PEM) of the authorities that signed the coordinator's certificates, read again on SIGHUP; empty: the system's"},
		&urfave.PathFlag{Name: "coord-cert", Destination: &c.Cluster.TLS.Cert, Value: c.Cluster.TLS.Cert, Category: "Cluster",
			Usage: "`FILE` (PEM) of the certificate to show to the coordinator; read again for each connection"},
		&urfave.PathFlag{Name: "coord-key", Destination: &c.Cluster.TLS.Key, Value: c.Cluster.TLS.Key, Category: "Cluster",
			Usage: "`FILE` (PEM) of that certificate's key"},
		&urfave.StringFlag{Name: "coord-server-name", Destination: &c.Cluster.TLS.ServerName, Value: c.Cluster.TLS.ServerName, Category: "Cluster",
			Usage: "name that the coordinator's certificates are for; empty: each server's host as in --coord"},
		&urfave.StringFlag{Name: "coord-user", Destination: &c.Cluster.User, Value: c.Cluster.User, Category: "Cluster",
			Usage: "user to be known by to the coordinator"},
		&urfave.PathFlag{Name: "coord-password-file", Destination: &c.Cluster.PasswordFile, Value: c.Cluster.PasswordFile, Category: "Cluster",
			Usage: "`FILE` with that user's password in one line, readable by the daemon alone; read again on SIGHUP, for etcd"},
		&urfave.StringFlag{Name: "accept-cluster", Destination: &c.Cluster.AcceptCluster, Value: c.Cluster.AcceptCluster, Category: "Cluster",
			Usage: "`UUID` of the cluster to join although this host's journal is of another one, as after the coordinator was wiped"},
		&urfave.StringFlag{Name: "host", Destination: &c.Host, Value: c.Host, Category: "Cluster",
			Usage: "name of this host, by which it gets its last worker ID back; empty: the system's"},
		&urfave.GenericFlag{Name: "ttl", Value: (*duration)(&c.Cluster.TTL), Category: "Cluster",
			Usage: "how long a worker ID stays taken after its daemon is gone"},
		&urfave.GenericFlag{Name: "start-timeout", Value: (*duration)(&c.Cluster.StartTimeout), Category: "Cluster",
			Usage: "give up if no ID can be issued this long after the start; 0: try for ever"},

		&urfave.PathFlag{Name: "state-dir", Destination: &c.StateDir, Value: c.StateDir, Category: "Marks",
			Usage: "`DIRECTORY` of the journal and the embedded coordinator, on a local disk"},
		&urfave.BoolFlag{Name: takeoverName, Destination: &c.Takeover, Value: c.Takeover, Category: "Marks",
			Usage: "go on in the place of the daemon that runs on this state directory, with its connections; where none runs, start as usual"},
		&urfave.GenericFlag{Name: "takeover-linger", Value: (*duration)(&c.TakeoverLinger), Category: "Marks",
			Usage: "stay this long after another daemon has taken over, or until told to stop, or until nobody serves the socket: for supervisors that start again whatever ends; 0: end at once"},
		&urfave.BoolFlag{Name: "takeover-downgrade", Destination: &c.Downgrade, Value: c.Downgrade, Category: "Marks",
			Usage: "with --takeover: also from a daemon of a later version than this one"},
		&urfave.PathFlag{Name: "machine-identity", Destination: &c.MachineIdentity, Value: c.MachineIdentity, Category: "Marks",
			Usage: "`FILE` that tells this machine from every other, over boots, so none that is in an image or on a cloned disk; empty: the DMI table's UUID, which root alone may read"},
		&urfave.PathFlag{Name: "vm-clock", Destination: &c.VMClock, Value: c.VMClock, Category: "Marks",
			Usage: "`PATH` of the VMClock device, which tells a copy of the running virtual machine from its original; empty: none is looked for"},
		&urfave.GenericFlag{Name: "window", Value: (*duration)(&c.Grant.Window), Category: "Marks",
			Usage: "how far ahead the coordinator grants, and so how long it may be away; 0: 10m, or 2m for layouts of fewer than 64 worker IDs"},
		&urfave.GenericFlag{Name: "publish", Value: (*duration)(&c.Grant.Publish), Category: "Marks",
			Usage: "how often the grant is pushed ahead"},
		&urfave.GenericFlag{Name: "journal-step", Value: (*duration)(&c.Grant.Step), Category: "Marks",
			Usage: "how far ahead the mark on disk is, and so how long a restart after a crash waits; at least two ticks"},
		&urfave.GenericFlag{Name: "idle-after", Value: (*duration)(&c.Grant.Idle), Category: "Marks",
			Usage: "after this long without a request the mark on disk is renewed at the next one only, and the grant is pushed ahead each sixth of --window; 0: never"},

		&urfave.GenericFlag{Name: "max-sleep", Value: (*duration)(&c.Waiting.MaxSleep), Category: "Waiting",
			Usage: "when the clock was set back by at most this, wait for it"},
		&urfave.GenericFlag{Name: "max-block", Value: (*duration)(&c.Waiting.MaxBlock), Category: "Waiting",
			Usage: "give a request up after it waited this long"},
		&urfave.GenericFlag{Name: "burst", Value: (*duration)(&c.Waiting.Burst), Category: "Waiting",
			Usage: "when a tick has not enough numbers for a request, draw on those that were left unused this far back, up to 2s, instead of waiting; 0: never"},
		&urfave.StringFlag{Name: "burst-order", Destination: &c.Waiting.BurstOrder, Value: c.Waiting.BurstOrder, Category: "Waiting",
			Usage: "what a burst keeps to, an `ORDER`: connection (the IDs of each connection rise) or none"},

		&urfave.StringFlag{Name: "rate", Destination: &c.Waiting.Rate, Value: c.Waiting.Rate, Category: "Waiting",
			Usage: "how many IDs each user (UID) may take, a `RATE`: 100000/s, or 100000/s+20000 with that burst; empty: any number"},
		&urfave.StringFlag{Name: "rate-by-uid", Destination: &c.Waiting.RateByUID, Value: c.Waiting.RateByUID, Category: "Waiting",
			Usage: "`RATES` of some users in the place of --rate: 1000=5000/s,1001=none"},

		&urfave.GenericFlag{Name: "max-forward", Value: (*duration)(&c.Time.MaxForward), Category: "Clock",
			Usage: "how far the clock may step ahead, in sum, before somebody has to confirm it; until then the daemon goes on by the monotonic clock"},
		&urfave.GenericFlag{Name: "forward-hold", Value: (*duration)(&c.Time.ForwardHold), Category: "Clock",
			Usage: "how long a step ahead of more than --max-forward is held if nobody can tell whether it is right"},
		&urfave.GenericFlag{Name: "max-skew", Value: (*duration)(&c.Time.MaxSkew), Category: "Clock",
			Usage: "how far clocks of one cluster may lie apart: a start whose clock is ahead of most of the coordinator's servers by more is not ready"},
		&urfave.BoolFlag{Name: "trust-clock", Destination: &c.Time.Trust, Value: c.Time.Trust, Category: "Clock",
			Usage: "follow the clock whatever it shows, at a start and later; if it is wrong, IDs carry the wrong time"},

		&urfave.PathFlag{Name: "log-file", Destination: &s.logFile, Value: s.logFile, Category: "Log",
			Usage: "`FILE` that the log is appended to, opened again on SIGHUP; empty: standard error"},
	}, s.logFlags()...)
}

// logFlags say what is logged, and how.
func (s *settings) logFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "log-level", Destination: &s.logLevel, Value: s.logLevel, Category: "Log",
			Usage: "what is logged: " + strings.Join(logLevels, ", ") + ", or off"},
		&urfave.BoolFlag{Name: "log-json", Destination: &s.logJSON, Value: s.logJSON, Category: "Log",
			Usage: "log in JSON, a line an event"},
	}
}

const (
	socketName  = "socket"
	layoutUsage = "how IDs are put together, a `LAYOUT`: twitter, twitter;epoch=2026-01-01, or the full form (see flakeward layout --list)"
)

func socketFlag(path *string) urfave.Flag {
	return &urfave.PathFlag{Name: socketName, Destination: path, Value: *path, Category: "Socket",
		Usage: "`PATH` of the daemon's Unix socket"}
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
func withConfig(command *urfave.Command) *urfave.Command { return withTenants(command, nil) }

// withTenants is withConfig for a command that wants the file's tenants, too.
func withTenants(command *urfave.Command, tenants *[]tenant.Tenant) *urfave.Command {
	command.Flags = append(command.Flags, &urfave.PathFlag{
		Name: configName, Usage: "YAML `FILE` with settings by the names of the flags; flags and variables win over it",
	})
	names := append(settingNames(), configName)
	for _, f := range command.Flags {
		if name := f.Names()[0]; slices.Contains(names, name) {
			setVariable(f, variable(name))
		}
	}
	command.Before = func(c *urfave.Context) error { return fillIn(c, tenants) }
	return command
}

// setVariable gives a flag its environment variable. One that is set to nothing
// counts as not set; the library would take it for an empty text.
func setVariable(f urfave.Flag, name string) {
	if value, ok := os.LookupEnv(name); ok && value == "" {
		return
	}
	names := []string{name}
	switch f := f.(type) {
	case *urfave.StringFlag:
		f.EnvVars = names
	case *urfave.PathFlag:
		f.EnvVars = names
	case *urfave.BoolFlag:
		f.EnvVars = names
	case *urfave.IntFlag:
		f.EnvVars = names
	case *urfave.Uint64Flag:
		f.EnvVars = names
	case *urfave.GenericFlag:
		f.EnvVars = names
	}
}

// fillIn reads the file that --config names into the flags that are not set, and its tenants into
// tenants unless that is nil. A variable that is nearly one of a setting is an error, as such a name in the file is.
func fillIn(c *urfave.Context, tenants *[]tenant.Tenant) error {
	if _, err := strangeVariables(os.Environ()); err != nil {
		return err
	}
	path := c.Path(configName)
	if path == "" {
		return nil
	}
	values, err := configfile.Read(path, fileSettings())
	if values == nil {
		return &usageError{err}
	}
	errs := []error{err} // all at once: who mends a file mends all of it
	for _, f := range c.Command.Flags {
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
	if tenants == nil {
		return nil
	}
	*tenants, err = readTenants(path, values[tenantsName])
	return err
}

// wanted says what a flag's value looks like.
func wanted(f urfave.Flag) string {
	switch f := f.(type) {
	case *urfave.IntFlag, *urfave.Uint64Flag:
		return "a whole number in range"
	case *urfave.BoolFlag:
		return "true or false"
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
