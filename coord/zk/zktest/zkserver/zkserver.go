// Package zkserver runs real ZooKeeper servers as child processes, one or an ensemble of several:
// for tests (package zktest is made for those) and for measuring. They listen on loopback only and
// do not outlive their parent.
package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Options say what to run. The zero value is one server with a plain port.
type Options struct {
	// Members is the number of servers: 1 if 0. Three or more are an ensemble.
	Members int
	// Tick is ZooKeeper's tickTime, which sessions and elections are counted in: 500 ms if 0.
	Tick time.Duration
	// MaxSession bounds the session timeouts that clients get: two minutes if 0.
	MaxSession time.Duration
	// Observers is how many of the members, the last ones, may not vote.
	Observers int
	// TLS adds to each member a port that speaks TLS.
	TLS *TLS
	// Config are more settings for zoo.cfg. One that zoo.cfg does not know becomes
	// the system property `zookeeper.` + name: DigestAuthenticationProvider.superDigest, say.
	Config map[string]string
}

// TLS are PEM files for the servers' TLS port.
type TLS struct {
	// Cert and Key are the servers' certificate with its chain, and its key: RSA or
	// elliptic (ZooKeeper 3.8 knows no Ed25519), in any PEM form that crypto/tls reads.
	Cert, Key string
	// ClientCA, if set, is the certificate authority that each client must have a
	// certificate of. Otherwise no client is asked for one.
	ClientCA string
}

// Ensemble is a number of ZooKeeper servers, their ports and their data. Its methods
// are for one goroutine, except for Addresses and TLSAddresses.
type Ensemble struct {
	options Options
	java    install
	members []*member
}

// New prepares servers that keep everything below dir. None runs yet. Close frees what they hold.
func New(dir string, options Options) (*Ensemble, error) {
	java, err := find()
	if err != nil {
		return nil, err
	}
	options.Members = max(options.Members, 1)
	if options.Tick == 0 {
		options.Tick = 500 * time.Millisecond
	}
	if options.MaxSession == 0 {
		options.MaxSession = 2 * time.Minute
	}
	e := &Ensemble{options: options, java: java}
	for i := range options.Members {
		m, err := newMember(filepath.Join(dir, strconv.Itoa(i)), options.TLS != nil)
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
		e.members = append(e.members, m)
	}
	for i := range e.members {
		if err := e.configure(i); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// Close kills what runs and gives the ports back. The data stay.
func (e *Ensemble) Close() error {
	var errs []error
	for _, m := range e.members {
		errs = append(errs, m.kill())
		for _, p := range m.ports() {
			errs = append(errs, p.Release())
		}
	}
	return errors.Join(errs...)
}

// Members is the number of members, whether they run or not.
func (e *Ensemble) Members() int { return len(e.members) }

// Addresses are the members' addresses for clients, host:port, by member. They stay
// the same when a member is started again; meanwhile they refuse connections.
func (e *Ensemble) Addresses() []string {
	var addresses []string
	for _, m := range e.members {
		addresses = append(addresses, m.client.Address())
	}
	return addresses
}

// TLSAddresses are the members' addresses for clients that speak TLS, by member. There
// are none without Options.TLS.
func (e *Ensemble) TLSAddresses() []string {
	var addresses []string
	for _, m := range e.members {
		if m.secure.Number != 0 {
			addresses = append(addresses, m.secure.Address())
		}
	}
	return addresses
}

// Start starts the given members, or all, on the data that they have. If a majority
// runs then, it returns when the started ones serve.
func (e *Ensemble) Start(ctx context.Context, members ...int) error {
	members = e.orAll(members)
	if err := e.each("start", members, func(m *member) error { return m.start(e.java) }); err != nil {
		return err
	}
	if !e.majority() {
		return nil
	}
	return e.Ready(ctx, members...)
}

// Stop ends the given members, or all, in order (SIGTERM), and waits for their end.
func (e *Ensemble) Stop(ctx context.Context, members ...int) error {
	if err := e.each("stop", members, (*member).terminate); err != nil {
		return err
	}
	return e.each("see the end of", members, func(m *member) error { return m.wait(ctx) })
}

// Kill ends the given members, or all, at once (SIGKILL).
func (e *Ensemble) Kill(members ...int) error { return e.each("kill", members, (*member).kill) }

// Pause stops the given members, or all, where they are (SIGSTOP): they keep their
// connections and answer nothing.
func (e *Ensemble) Pause(members ...int) error { return e.each("pause", members, (*member).pause) }

// Resume lets paused members, or all, go on (SIGCONT).
func (e *Ensemble) Resume(members ...int) error { return e.each("resume", members, (*member).resume) }

func (e *Ensemble) each(doing string, members []int, do func(*member) error) error {
	for _, i := range e.orAll(members) {
		if err := do(e.members[i]); err != nil {
			return fmt.Errorf("cannot %s ZooKeeper server %d: %w", doing, i, err)
		}
	}
	return nil
}

// Data is the directory that the member keeps its data in.
func (e *Ensemble) Data(member int) string { return e.members[member].data() }

// Running says whether the member was started and neither ended nor is paused.
func (e *Ensemble) Running(member int) bool { return e.members[member].active() }

func (e *Ensemble) orAll(members []int) []int {
	if len(members) > 0 {
		return members
	}
	for i := range e.members {
		members = append(members, i)
	}
	return members
}

func (e *Ensemble) majority() bool {
	n := 0
	for _, m := range e.members {
		if m.active() {
			n++
		}
	}
	return n > len(e.members)/2
}

// stopped is an error if any member runs: its files are then its own.
func (e *Ensemble) stopped() error {
	for i, m := range e.members {
		if m.running() {
			return fmt.Errorf("ZooKeeper server %d runs: stop all members before their data are touched", i)
		}
	}
	return nil
}

// Wipe deletes the data of all members, which must be stopped: they start empty.
func (e *Ensemble) Wipe() error {
	if err := e.stopped(); err != nil {
		return err
	}
	for _, m := range e.members {
		if err := os.RemoveAll(m.versions()); err != nil {
			return err
		}
	}
	return nil
}

// Backup copies the data of all members, which must be stopped, to dir, which must not
// be there yet.
func (e *Ensemble) Backup(dir string) error {
	if err := e.stopped(); err != nil {
		return err
	}
	for i, m := range e.members {
		if err := os.CopyFS(filepath.Join(dir, strconv.Itoa(i)), os.DirFS(m.data())); err != nil {
			return err
		}
	}
	return nil
}

// Restore replaces the data of all members, which must be stopped, by those that
// Backup copied to dir.
func (e *Ensemble) Restore(dir string) error {
	if err := e.stopped(); err != nil {
		return err
	}
	for i, m := range e.members {
		if err := os.RemoveAll(m.data()); err != nil {
			return err
		}
		if err := os.CopyFS(m.data(), os.DirFS(filepath.Join(dir, strconv.Itoa(i)))); err != nil {
			return err
		}
	}
	return nil
}
