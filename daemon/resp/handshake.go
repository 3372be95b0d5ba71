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

// subscribe is SUBSCRIBE channel [channel ...]. Nobody publishes here, so no message ever comes.
func subscribe(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	if refused := channelsRefused(s, "SUBSCRIBE", len(s.channels)+len(args)); refused != nil {
		return h.refuse(out, refused)
	}
	for _, channel := range args {
		if s.subscribed(channel) < 0 {
			s.channels = append(s.channels, bytes.Clone(channel))
		}
		out = appendSubscription(out, s, "subscribe", channel)
	}
	return out
}

// unsubscribe is UNSUBSCRIBE [channel ...], of all channels if none is named.
func unsubscribe(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	if refused := channelsRefused(s, "UNSUBSCRIBE", len(args)); refused != nil {
		return h.refuse(out, refused)
	}
	if len(args) == 0 {
		args = slices.Clone(s.channels)
	}
	for _, channel := range args {
		if i := s.subscribed(channel); i >= 0 {
			s.channels = slices.Delete(s.channels, i, i+1)
		}
		out = appendSubscription(out, s, "unsubscribe", channel)
	}
	if len(args) == 0 {
		out = appendSubscription(out, s, "unsubscribe", nil)
	}
	return out
}

// punsubscribe is PUNSUBSCRIBE [pattern ...]. No connection has subscribed to a pattern.
func punsubscribe(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	if refused := channelsRefused(s, "PUNSUBSCRIBE", len(args)); refused != nil {
		return h.refuse(out, refused)
	}
	for _, pattern := range args {
		out = appendSubscription(out, s, "punsubscribe", pattern)
	}
	if len(args) == 0 {
		out = appendSubscription(out, s, "punsubscribe", nil)
	}
	return out
}

// channelsRefused is why a request for so many channels is refused; nil: it is not. Each channel
// has a reply of its own, so a transaction, which counts one for each request, cannot have it.
func channelsRefused(s *Session, name string, channels int) *Refusal {
	switch {
	case s.transaction != nil:
		return Refuse(BadOption, name, "it before MULTI")
	case channels > mostChannels:
		return Refuse(BadOption, name, "16 channels at most: no message ever comes")
	}
	return nil
}

// subscribed returns where in the session's channels the channel is; negative: nowhere.
func (s *Session) subscribed(channel []byte) int {
	return slices.IndexFunc(s.channels, func(c []byte) bool { return bytes.Equal(c, channel) })
}

// appendSubscription appends the reply about one channel, or, if that is nil, about none.
func appendSubscription(out []byte, s *Session, what string, channel []byte) []byte {
	kind := byte('*')
	if s.resp3 {
		kind = '>'
	}
	out = appendBulk(appendHead(out, kind, 3), what)
	if channel == nil {
		out = s.appendNull(out)
	} else {
		out = appendBulk(out, channel)
	}
	return appendInt(out, int64(len(s.channels)))
}
