package resp

import (
	"bytes"
	"slices"

	"github.com/flakeward/flakeward/daemon/tally"
)

// What clients send when they connect to a Redis server, beside the commands about the connection.

// clusterOff is Redis' error, by which clients know a server that is no member of a Redis Cluster.
const clusterOff = "This instance has cluster support disabled"

// notHere are commands with which clients probe a server when they connect, and what a Redis server
// says that does not have them; "": that the command is unknown.
var notHere = []struct{ name, text string }{
	{"CLUSTER", clusterOff}, {"READONLY", clusterOff}, {"READWRITE", clusterOff}, {"SENTINEL", ""},
}

// unknown refuses a command that there is not.
func unknown(name []byte) *Refusal {
	for _, c := range notHere {
		if !is(name, c.name) {
			continue
		}
		if c.text != "" {
			return Refuse(Declined, c.text)
		}
		return declined(Refuse(UnknownCommand, c.name))
	}
	return Refuse(UnknownCommand, shown(name))
}

// declined has a refusal counted as the reply to a probe.
func declined(r *Refusal) *Refusal {
	r.Code = tally.Declined
	return r
}

// mostChannels is how many channels a connection may subscribe to.
const mostChannels = 16

// subscribe is SUBSCRIBE channel [channel ...]. Nobody publishes here, so no message ever comes. Each
// channel has a reply of its own, so a transaction, which counts one for each request, cannot have
// it.
func subscribe(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	if s.transaction != nil {
		return h.refuse(out, Refuse(BadOption, "SUBSCRIBE", "it before MULTI"))
	}
	if len(s.channels)+len(args) > mostChannels {
		return h.refuse(out, Refuse(BadOption, "SUBSCRIBE", "16 channels at most: no message ever comes"))
	}
	kind := byte('*')
	if s.resp3 {
		kind = '>'
	}
	for _, channel := range args {
		if !slices.ContainsFunc(s.channels, func(c []byte) bool { return bytes.Equal(c, channel) }) {
			s.channels = append(s.channels, bytes.Clone(channel))
		}
		out = appendBulk(appendBulk(appendHead(out, kind, 3), "subscribe"), channel)
		out = appendInt(out, int64(len(s.channels)))
	}
	return out
}
