package daemon

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/systemd"
	"github.com/flakeward/flakeward/daemon/tcp"
	"github.com/flakeward/flakeward/daemon/vmclock"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// Config is what one daemon needs to know. Validate says what is wrong with it.
type Config struct {
	Socket Socket
	Listen tcp.Config // the address on TCP, if there is one
	// Takeover has the daemon go on in the place of one that runs on the same socket.
	Takeover bool
	// TakeoverStay has Run stay until it is told to end after another daemon has taken over.
	TakeoverStay bool
	VMClock      string // the path at which the hypervisor shows the machine's generation
	Host         string // the host's name, a preference for a worker ID and no identity; empty: the system's
	Cluster      Cluster
	IDs          IDs
	Grant        grant.Timing
	// RestartWait is how long a start may wait for the floor of the last worker ID, two ticks at
	// the least: beyond it another worker ID is better. It begins when the daemon has started, and
	// has its first ID within a second of the crash all the same.
	RestartWait time.Duration
	Waiting     Waiting
	// Memory is what the process may use, in bytes: clients whose buffers would need more lose
	// their connection. 0: see budget.FindMemory.
	Memory int64
	Time   clockguard.Belief // how far a clock that runs ahead is believed

	Version string
	Log     hclog.Logger
	// LogDropped counts the lines of Log that were dropped; nil: nobody counts them.
	LogDropped func() uint64
	// ReopenLog opens the log's file anew; nil: there is none.
	ReopenLog func() error
	// Reload has ReopenLog called, and certificates and passwords read again; nil: nothing does.
	Reload <-chan os.Signal
	Clock  clockguard.Clock  // nil: the real one
	Kernel clockguard.Kernel // what is known of Clock besides; nil: nothing. The real clock has the real one
	Ready  func()            // called once, when the first ID can be issued; may be nil
	// Renew has Successor called; nil: nothing does.
	Renew <-chan os.Signal
	// Successor starts the program anew, to take over from this process.
	Successor func() (*systemd.Started, error)
	Service   *systemd.Service // the service manager's; nil: there is none. Run does not close it
}

// Socket is the Unix socket that sidecars ask on, and its bounds.
type Socket struct {
	Path           string
	Mode           os.FileMode // permission bits of the socket file
	Group          string      // the socket file's group, by name or number; empty: the process's own
	MaxConnections int         // connections at once
	MaxCount       int         // IDs in one request
	// IdleTimeout is for how long a client may ask for nothing before its connection is closed; 0:
	// for ever.
	IdleTimeout time.Duration
	AllowUIDs   []uint32 // who may connect besides root and the daemon's own user, and
	AllowGIDs   []uint32 // whose main group; both empty: everybody who can open the socket
}

// Cluster is the coordinator.
type Cluster struct {
	// Coord is its URL: dir:/path, etcd://host:port,.../prefix or zk://host:port,.../chroot.
	Coord        string
	RequireCoord bool          // refuse a coordinator of this host alone
	FUSE         bool          // a directory may lie on FUSE
	TLS          connect.TLS   // whether and how it is spoken to encrypted
	User         string        // who is to be known to it, if it asks and the URL does not say
	PasswordFile string        // the user's password, alone in a file
	TTL          time.Duration // how long the session outlives a daemon that is gone

	// Adopt takes a directory that was copied or restored; it is for an operator's command alone.
	Adopt bool
}

// IDs is what the IDs look like.
type IDs struct {
	Layout     string
	Datacenter uint64
	// SequenceStart is at which number a tick begins: StartRolling or StartZero.
	SequenceStart string
	Form          string // of the IDs on a connection that asks for none: a name of package form
}

// Where the numbers of a tick begin. IDs.SequenceStart is one of these.
const (
	StartRolling = "rolling" // where those of the last tick stopped: see generator.Lane.Roll
	StartZero    = "zero"    // at 0
)

// Waiting is what a request may have to wait for.
type Waiting struct {
	MaxSleep time.Duration // the clock is behind by at most this: wait for it
	MaxBlock time.Duration // give a request up after this

	// Burst is how far back a request may draw on numbers that were left unused, once the tick has
	// not enough of them; 0: not at all.
	Burst time.Duration

	Rate string // how many IDs a user may take, as issue.ParseRate reads it; empty: any number
}

const (
	// autoWindow and autoSmallWindow are the windows that a Window of 0 stands for. Where worker
	// IDs are few, one whose mark is far ahead is missed sooner.
	autoWindow      = 10 * time.Minute
	autoSmallWindow = 2 * time.Minute
	fewWorkers      = 1024

	// longestBurst is how far back a lane remembers which numbers it has left.
	longestBurst = 2 * time.Second
)

// DefaultConfig is the configuration of a daemon that was given its paths.
func DefaultConfig() Config {
	return Config{
		VMClock: vmclock.DefaultPath,
		Socket:  Socket{Mode: 0o660, MaxConnections: 10000, MaxCount: 65536},
		Cluster: Cluster{TTL: 10 * time.Second},
		IDs:     IDs{Layout: "flakeward", SequenceStart: StartRolling, Form: form.Integer.String()},
		Grant:   grant.Timing{Publish: 10 * time.Second},
		Waiting: Waiting{MaxSleep: 5 * time.Millisecond, MaxBlock: 2 * time.Second},
		Time:    clockguard.DefaultBelief(),

		RestartWait: 900 * time.Millisecond,
	}
}

// Validate checks the configuration and the relations between its times. All that is wrong is said
// at once, each with the name of its flag.
func (c Config) Validate() error {
	var errs []error
	bad := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...)))
	}
	if c.Socket.Path == "" {
		bad("socket", "a path is needed")
	}
	if c.Socket.Mode&^0o777 != 0 || c.Socket.Mode&0o600 != 0o600 {
		bad("socket-mode", "%#o is no mode that lets the owner read and write: take one from 0600 to 0777", uint32(c.Socket.Mode))
	}
	within := func(flag string, value, least, most time.Duration) {
		if value < least || value > most {
			bad(flag, "%v is not within %v and %v", value, least, most)
		}
	}
	counted := func(flag string, number int) {
		if number < 1 || number > 1<<20 {
			bad(flag, "%d is not within 1 and %d", number, 1<<20)
		}
	}
	counted("max-connections", c.Socket.MaxConnections)
	counted("max-count", c.Socket.MaxCount)
	if c.Socket.IdleTimeout < 0 || c.Socket.IdleTimeout > 0 && c.Socket.IdleTimeout < time.Second {
		bad("idle-timeout", "%v is neither 0, which means for ever, nor at least 1s", c.Socket.IdleTimeout)
	}
	if c.Memory != 0 && c.Memory < budget.LeastMemory {
		bad("memory", "%d bytes are not enough for a daemon: give it at least %d MiB, or 0 for the cgroup's limit", c.Memory, budget.LeastMemory>>20)
	}
	c.Listen.Validate(bad)
	if c.Listen.Address != "" && c.Listen.PasswordFile == "" && len(c.Socket.AllowUIDs)+len(c.Socket.AllowGIDs) > 0 {
		bad("listen", "every user of this host could ask there, whatever --allow-uid and --allow-gid say: give --password-file")
	}
	c.Cluster.validateAccess(bad)
	within("ttl", c.Cluster.TTL, 2*time.Second, time.Hour)
	layout, err := generator.ParseLayout(c.IDs.Layout)
	if err != nil {
		bad("layout", "%v", err)
		return errors.Join(errs...)
	}
	if c.IDs.Datacenter > layout.Max(generator.Datacenter) {
		bad("datacenter", "%d does not fit the layout's %d datacenter bits: the highest is %d", c.IDs.Datacenter, layout.Bits(generator.Datacenter), layout.Max(generator.Datacenter))
	}
	f, err := form.Named(c.IDs.Form)
	if err == nil {
		err = form.New(layout, "").Can(f)
	}
	if err != nil && !errors.Is(err, form.ErrNoCluster) {
		bad("form", "%v", err)
	}
	if c.IDs.SequenceStart != StartRolling && c.IDs.SequenceStart != StartZero {
		bad("sequence-start", "%q is neither %s nor %s", c.IDs.SequenceStart, StartRolling, StartZero)
	}
	within("max-sleep", c.Waiting.MaxSleep, 0, time.Second)
	within("max-block", c.Waiting.MaxBlock, time.Millisecond, time.Hour)
	if tick := layout.TickLength(); c.Waiting.Burst != 0 && (c.Waiting.Burst < tick || c.Waiting.Burst > max(longestBurst, 2*tick)) {
		bad("burst", "%v is neither 0 nor within %v, a tick, and %v, which is how far back is remembered what was used", c.Waiting.Burst, tick, max(longestBurst, 2*tick))
	}
	if _, err := issue.ParseRate(c.Waiting.Rate); err != nil {
		bad("rate", "%v", err)
	}
	c.Time.Check(bad)
	within("restart-wait", c.RestartWait, 0, time.Minute)
	t := c.timing(layout)
	if t.Publish < 100*time.Millisecond {
		bad("publish", "%v is below 100ms", t.Publish)
	}
	if t.Window < 2*t.Publish {
		bad("window", "%v is less than two times --publish %v: one late write would stop issuing; raise it, or publish more often", t.Window, t.Publish)
	}
	if t.Window > 24*time.Hour {
		bad("window", "%v is over 24h: a daemon that crashes would leave its worker ID unused for that long", t.Window)
	}
	return errors.Join(errs...)
}

// validateAccess checks what the coordinator is reached with.
func (c Cluster) validateAccess(bad func(flag, format string, args ...any)) {
	coordinator, err := connect.Describe(c.Coord)
	if err != nil {
		bad("coord", "%v", err)
	}
	switch {
	case c.User != "" && c.PasswordFile == "":
		bad("coord-user", "a user needs a password: give its file with --coord-password-file")
	case c.User == "" && c.PasswordFile != "":
		bad("coord-password-file", "a password needs a user: give it with --coord-user")
	case c.User != "" && coordinator.User:
		bad("coord-user", "--coord has a user, too: leave one out")
	case c.User != "" && coordinator.Local:
		bad("coord-user", "a directory has no users: leave it out, or name a cluster with --coord")
	}
	if c.RequireCoord && err == nil && coordinator.Local {
		bad("coord", "a coordinator of this host alone is refused by --require-coord: each pod or host would have one of its own, and they would issue equal IDs; "+
			"name the coordinator of all: etcd://host:port/prefix or zk://host:port/chroot")
	}
	if c.TLS.Cert != "" && c.TLS.Key == "" {
		bad("coord-cert", "a client certificate needs its key: give it with --coord-key")
	}
	if c.TLS.Key != "" && c.TLS.Cert == "" {
		bad("coord-key", "a key needs its client certificate: give it with --coord-cert")
	}
	if c.TLS.Wanted() && coordinator.Local {
		bad("coord-ca", "a directory speaks to nobody over the network: leave the files of TLS out, or name a cluster with --coord")
	}
}

// Access is what connect needs to reach the coordinator; the caller adds its identity. The password
// has been read from its file, and the error, if that cannot be done, is a *connect.ConfigError.
func (c Config) Access() (connect.Config, error) {
	access := connect.Config{
		URL:   c.Cluster.Coord,
		TTL:   c.Cluster.TTL,
		TLS:   c.Cluster.TLS,
		User:  c.Cluster.User,
		Adopt: c.Cluster.Adopt,
		FUSE:  c.Cluster.FUSE,
		Clock: c.Clock,
		Log:   c.Log,
	}
	if c.Cluster.PasswordFile == "" {
		return access, nil
	}
	var err error
	access.Password, err = connect.ReadPassword(c.Cluster.PasswordFile, c.Log)
	return access, err
}

// timing fills in the window that was left to the layout.
func (c Config) timing(layout *generator.Layout) grant.Timing {
	t := c.Grant
	if t.Window == 0 {
		t.Window = autoWindow
		if layout.Workers() < fewWorkers {
			t.Window = autoSmallWindow
		}
	}
	return t
}

// coordinator is the coordinator's URL without its secrets. The configuration has been validated.
func (c Config) coordinator() connect.Description {
	d, _ := connect.Describe(c.Cluster.Coord)
	return d
}
