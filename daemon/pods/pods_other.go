//go:build !linux

package pods

import (
	"context"
	"errors"
	"net"
)

var errLinux = errors.New("only Linux can tell which directories come and go")

// What follows is never reached: the daemon refuses --pod-sockets here.

type listener struct {
	*net.UnixListener
	device, inode uint64
	kept          interface{ Store(bool) }
}

func (*listener) there() bool { return false }

type watcher struct{}

type batch struct {
	names map[string]bool
	lost  bool
}

func newWatcher(context.Context) (*watcher, error) { return nil, errLinux }
func (*watcher) close()                            {}
func (*watcher) told() <-chan batch                { return nil }
func (*watcher) watch(string)                      {}

func (*Pods) prepare()                                 {}
func list(string) ([]string, error)                    { return nil, errLinux }
func openIn(string, string) (string, *listener, error) { return "", nil, errLinux }
func adopt(string, Socket) (*listener, error)          { return nil, errLinux }
