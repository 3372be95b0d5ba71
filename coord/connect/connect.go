// Package connect opens the coordinator that a URL names.
package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/coord/zk"
)

// TLS says whether and how a cluster is spoken to encrypted.
type TLS = secure.TLS

// Config is what Open and Operate need.
type Config struct {
	// URL is dir:/path, etcd://[user:password@]host[:port],.../prefix or
	// zk://[user:password@]host[:port],.../chroot.
	URL string
	// TTL is the session's time to live, 2 s or more, in whole seconds for etcd; 10 s if 0.
	TTL time.Duration
	// Adopt takes a directory that was copied or restored for the cluster's, see dir.Config.
	Adopt bool
	// FUSE lets a directory lie on FUSE.
	FUSE bool
	// TLS encrypts; dir: has none.
	TLS TLS
	// User and Password are for servers that ask for them, if the URL has none.
	User     string
	Password string
	// Current has what Reload read; nil: there is no Reload.
	Current *secure.Current
	// Identity names the daemon. Operate needs none.
	Identity coord.Identity
	// Expired is called when a session has expired, and its claims with it; it must not wait. nil:
	// nobody is to know.
	Expired func()
	// Clock is for what is shown, and for the time at which the servers' certificates have to be
	// valid; the real one if nil.
	Clock clockguard.Clock
	// Log takes what operators should know; nil for none.
	Log hclog.Logger
}

// ConfigError means that the configuration cannot work, whatever the servers say:
// to try again is no use until it is corrected.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }

// Description says what a URL means, for people to read.
type Description struct {
	// Text is the URL without user and password.
	Text string
	// Local is true for a directory of this host.
	Local bool
	// User is true when the URL has a user and a password.
	User bool
}

// Describe returns what a URL means, or an error that says what is wrong with it.
// Neither shows a password.
func Describe(url string) (Description, error) {
	l, err := parse(url)
	if err != nil {
		return Description{}, err
	}
	return Description{Text: l.String(), Local: l.local(), User: l.user != ""}, nil
}

// Open returns the coordinator. Nothing has been sent, and servers that cannot be
// reached are the error of Join. A configuration that cannot work, as with a file that
// cannot be read, is a *ConfigError.
func Open(ctx context.Context, c Config) (coord.Coordinator, error) {
	return c.open()
}

// Operate returns what an operator's command does its work with. It makes no cluster.
func Operate(c Config) (coord.Operator, error) {
	if c.Identity.Incarnation == "" {
		c.Identity.Incarnation = strings.ReplaceAll(uuid.NewString(), "-", "")
	}
	return c.open()
}

// open returns a coordinator, or a nil interface.
func (c *Config) open() (remote, error) {
	l, err := c.locate()
	switch {
	case err != nil:
		return nil, err
	case l.local():
		return c.openDir(l)
	}
	return c.dial(l)
}

// locate completes the configuration and takes its URL apart.
func (c *Config) locate() (location, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	l, err := parse(c.URL)
	if err == nil {
		err = c.fits(&l)
	}
	if err == nil && l.local() {
		err = earlier(l.path)
	}
	if err != nil {
		return location{}, &ConfigError{err}
	}
	return l, nil
}

// fits checks what the URL and the rest say of the same things, and lets the URL have the user.
func (c *Config) fits(l *location) error {
	switch {
	case (c.User == "") != (c.Password == ""):
		return errors.New("a user needs a password, and a password a user: give both or neither")
	case l.local() && (c.User != "" || c.TLS.Wanted()):
		return fmt.Errorf("the coordinator %v knows neither users nor TLS: leave them out, or name a cluster", l)
	case l.user != "" && c.User != "":
		return errors.New("a user is given in the coordinator's URL and beside it: leave one out")
	case c.User != "":
		l.user, l.password = c.User, c.Password
	}
	return nil
}

// remote is a coordinator that is both a daemon's and an operator's.
type remote interface {
	coord.Coordinator
	coord.Operator
}

// dial makes the client of a cluster.
func (c *Config) dial(l location) (remote, error) {
	config, err := c.readTLS()
	if err != nil {
		return nil, err
	}
	var made remote
	if l.scheme == schemeZk {
		made, err = zk.Dial(zk.Servers{Addresses: l.hosts, Chroot: l.path, User: l.user, Password: l.password, TLS: config, Current: c.Current},
			zk.Config{Timeout: c.TTL, Identity: c.Identity, Expired: c.Expired, Clock: c.Clock, Log: c.Log.Named("zk")})
	} else {
		made, err = etcd.Dial(etcd.Servers{Endpoints: l.hosts, User: l.user, Password: l.password, TLS: config, Current: c.Current},
			etcd.Config{Prefix: l.path, TTL: c.TTL, Identity: c.Identity, Expired: c.Expired, Clock: c.Clock, Log: c.Log.Named("etcd")})
	}
	if err != nil {
		return nil, &ConfigError{err}
	}
	if l.user != "" && config == nil {
		c.Log.Warn("the password for the coordinator is sent unencrypted, for all on the way to read: use TLS", "coordinator", l.String())
	}
	return made, nil
}

// openDir makes the coordinator on a directory.
func (c *Config) openDir(l location) (remote, error) {
	made, err := dir.New(c.directory(l))
	if err != nil {
		return nil, &ConfigError{err}
	}
	return made, nil
}

func (c *Config) directory(l location) dir.Config {
	return dir.Config{Path: l.path, Identity: c.Identity, Adopt: c.Adopt, FUSE: c.FUSE, Clock: c.Clock, Log: c.Log.Named("dir")}
}

// Check returns what a coordinator's directory would be refused for. It writes nothing, and asks no
// server.
func (c Config) Check() error {
	l, err := c.locate()
	if err != nil || !l.local() {
		return err
	}
	return dir.Check(c.directory(l))
}

// earlier refuses the state directory of an earlier version, which had the coordinator's directory
// in it.
func earlier(path string) error {
	for _, name := range []string{"etcd", "coord", "journal"} {
		if !exists(filepath.Join(path, name)) || exists(filepath.Join(path, "cluster")) {
			continue
		}
		text := fmt.Sprintf("%s is the state directory of an earlier version: stop that version's daemon, and name another directory with --coord dir:PATH, or remove this one", path)
		switch {
		case exists(filepath.Join(path, "coord", "cluster")):
			text += "; its cluster goes on with --coord dir:" + filepath.Join(path, "coord")
		case name == "etcd":
			text += "; the cluster of its embedded etcd can be exported by `flakeward cluster export` of that version"
		}
		return errors.New(text)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// readTLS reads the files of TLS; nil: there is none.
func (c *Config) readTLS() (*tls.Config, error) {
	config, err := c.TLS.Config(c.Log)
	if err != nil {
		return nil, &ConfigError{err}
	}
	if config != nil && c.Clock != nil {
		config.Time = func() time.Time { return time.Unix(0, c.Clock.Now().Wall) }
	}
	return config, nil
}

// Reload reads the files of TLS again. Whatever was opened with the same Current takes them, and
// the password, for its connections and logins from now on.
func (c Config) Reload() error {
	config, err := c.readTLS()
	if err == nil {
		c.Current.Set(config, c.Password)
	}
	return err
}
