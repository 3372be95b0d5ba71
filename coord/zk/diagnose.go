package zk

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/probe"
)

// protocol is the one four-letter word that every server answers unless it is told not to, whoever
// asks: how it is. A server that does not answer the word says so by name.
var protocol = probe.Protocol{
	Name:  "ZooKeeper",
	Hello: "srvr",
	Known: func(b []byte) bool {
		for _, begins := range []string{"Zookeeper version", notServing, "srvr is not executed"} {
			if n := min(len(b), len(begins)); bytes.Equal(b[:n], []byte(begins[:n])) {
				return true
			}
		}
		return false
	},
}

// notServing is what a member without a quorum answers to the word.
const notServing = "This ZooKeeper instance is not currently serving requests"

const noQuorum = "it has no quorum: most members of its ensemble are stopped or cannot reach each other; bring them back"

// unwell returns why no request is served, by all servers side by side. last is why there is no
// session.
func (c *client) unwell(ctx context.Context, last error) error {
	well := "it answers, and finished no request in time: its disk hangs or is slow, or it is overloaded"
	if errors.Is(last, coord.ErrTurnedAway) {
		well = "it serves, and ends this connection: it knows less than this client has seen already, as after a wipe " +
			"or a restore from a backup; run `flakeward cluster raise` and start this daemon again"
	}
	return probe.All(c.servers.Addresses, func(address string) error { return c.ask(ctx, address) }, well)
}

// late says why a request got no answer before the end of its context: what was found, unless the
// servers have refused the user.
func late(found, last, end error) error {
	switch {
	case last != nil && (found == nil || errors.Is(last, coord.ErrLogin)):
		found = last
	case found == nil:
		found = errors.New("no answer in time")
	}
	return probe.Says(errors.Join(found, last, end), "%v", found)
}

var errNoQuorum = errors.New("no quorum")

// ask asks one server over a connection of its own; nil: it serves.
func (c *client) ask(ctx context.Context, address string) error {
	answer, err := protocol.Ask(ctx, probe.Server{Address: address, TLS: c.servers.Current.TLS(c.servers.TLS)}, true)
	switch text := string(answer); {
	case err != nil:
		return err
	case strings.HasPrefix(text, notServing):
		return probe.Says(errNoQuorum, noQuorum)
	case strings.Contains(text, "\nMode: read-only"):
		return probe.Says(errNoQuorum, "it is read-only, as it is cut off from most members of its ensemble; bring those back")
	}
	return nil
}
