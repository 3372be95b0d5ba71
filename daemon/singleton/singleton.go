// Package singleton keeps a daemon whose coordinator was not named from running beside another such
// daemon. Each of the two would have a coordinator of its own, which knows nothing of the other,
// and both would issue the same IDs.
//
// Locks of the network namespace and of the user find the other daemon. None is ever stale: the
// kernel frees them when the process ends, however it ends. They are a help for those who start a
// daemon without settings and no part of what makes an ID unique: two hosts, and two containers,
// share none.
package singleton

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/internal/filelock"
)

// HeldError says that another daemon runs without a named coordinator.
type HeldError struct {
	Lock  string // "this network namespace" or "this user": whose lock it is
	Place string // where that lock is
	PID   int    // of its holder; 0: unknown, as in another container
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("another daemon runs without --coord: %s holds the lock of %s (%s). Each of the two would have an "+
		"embedded coordinator of its own, and both would issue the same IDs. Name one coordinator for all daemons with "+
		"--coord etcd://... or --coord zk://..., or stop the other one. --coord embedded: takes no lock: give it if IDs of "+
		"different state directories never meet. Containers with a network and files of their own do not share this lock, and neither do "+
		"other hosts, so it does not find a daemon there",
		filelock.Process(e.PID), e.Lock, e.Place)
}

// Locks are those that Acquire took.
type Locks struct{ held []*os.File }

// Adopt returns the locks that another process has handed over, which holds them as well.
func Adopt(files []*os.File) *Locks { return &Locks{files} }

// Files returns the locks, to be handed to another process. They stay the receiver's; nil has none.
func (l *Locks) Files() []*os.File {
	if l == nil {
		return nil
	}
	return l.held
}

// Acquire takes the lock of this process's network namespace (on Linux) and that of its user. It
// does not wait: the error is a *HeldError if another process, or another part of this one, holds
// one of them.
//
// The user's lock is two files: one in $XDG_RUNTIME_DIR/flakeward, where that is a directory of the
// user, and one in flakeward-UID in the directory for temporary files, as not every process of a
// user has that variable. A system without a place for a file, such as a container with a read-only
// file system, is named in log and goes without. If there is no other, a directory that another user
// could write to is an error.
func Acquire(log hclog.Logger) (*Locks, error) {
	return acquire(places{
		namespace: abstractName,
		runtime:   os.Getenv("XDG_RUNTIME_DIR"),
		temporary: os.TempDir(),
		user:      os.Geteuid(),
	}, log)
}

// abstractName names the socket that is the lock of a network namespace, for daemons of every
// version.
const abstractName = "@flakeward/without-coord"

// places says where the locks are.
type places struct {
	namespace string // name of an abstract socket, with its @
	runtime   string // the value of XDG_RUNTIME_DIR
	temporary string // a directory where everyone may make files
	user      int
}

func acquire(p places, log hclog.Logger) (_ *Locks, err error) {
	l := &Locks{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	// All daemons take them in this order, so of several that start at once one goes on.
	namespace, err := lockNamespace(p.namespace)
	if err != nil {
		return nil, err
	}
	if namespace != nil {
		l.held = append(l.held, namespace)
	}
	for i, dir := range p.userDirs() {
		file, err := lockUser(dir, p.user)
		var held *HeldError
		switch {
		case err == nil:
			l.held = append(l.held, file)
		case !errors.As(err, &held) && (isNoPlace(err) || i > 0):
			log.Warn("there is no place for this user's lock, so a second daemon without --coord may not be found in another network namespace",
				"error", err)
		default:
			return nil, err
		}
	}
	return l, nil
}

// Close frees the locks; nil has none.
func (l *Locks) Close() (err error) {
	if l == nil {
		return nil
	}
	for _, held := range l.held {
		err = errors.Join(err, held.Close())
	}
	l.held = nil
	return err
}

// userDirs returns the directories of the user's lock.
func (p places) userDirs() (all []string) {
	// The specification wants relative paths to be ignored, and says that the directory is the
	// user's. After su it may be another one's.
	if filepath.IsAbs(p.runtime) && checkOwn(p.runtime, p.user) == nil {
		all = append(all, filepath.Join(p.runtime, "flakeward"))
	}
	return append(all, filepath.Join(p.temporary, "flakeward-"+strconv.Itoa(p.user)))
}
