package claims

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// interval is one opening in a worker ID's history, which is a JSON list of them, the
// newest last. Whoever issued a tick is the last of those whose From is below it:
// each issues only above its own, and nobody who came before issued above it.
type interval struct {
	From        generator.Tick `json:"from"`
	Host        string         `json:"host,omitempty"`
	Incarnation string         `json:"incarnation,omitempty"` // empty: see unknown
	Claim       string         `json:"claim,omitempty"`
	Opening     string         `json:"opening,omitempty"`
	Version     string         `json:"version,omitempty"`
	Since       int64          `json:"since,omitempty"` // as member's
}

// unknown stands for what may have been issued above the tick and was lost: the
// coordinator was restored from a backup, and the marks were raised over it.
func unknown(from generator.Tick) interval { return interval{From: from} }

// history returns the worker ID's history with the opening added.
func (p *pending) history(opening string, from generator.Tick) Entry {
	c, n := p.c, p.node
	var list []interval
	if n.History.Version != 0 {
		var err error
		if list, err = decodeHistory(n.History.Value); err != nil {
			c.log.Warn("a history is damaged and begins anew", "path", historyPath(c.store, n.Worker), "error", err)
		}
	}
	if n.cluster.raised(n.record) {
		list = follow(list, unknown(n.record.Ceiling))
	}
	list = follow(list, interval{
		From: from, Host: c.identity.Host, Incarnation: c.identity.Incarnation, Claim: n.Name,
		Opening: opening, Version: c.identity.Version, Since: n.since,
	})
	list = list[max(0, len(list)-c.history):]
	return Entry{Value: encode(list), Version: n.History.Version}
}

// follow adds an entry. Those at or above its tick are never the answer again, so
// openings that issued nothing take no room.
func follow(list []interval, next interval) []interval {
	for len(list) > 0 && list[len(list)-1].From >= next.From {
		list = list[:len(list)-1]
	}
	return append(list, next)
}

func decodeHistory(b []byte) ([]interval, error) {
	var list []interval
	if err := decode(b, &list); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(t interval) bool { return t.From < 0 }) {
		return nil, errors.New("a tick is negative")
	}
	if !slices.IsSortedFunc(list, func(a, b interval) int { return cmp.Compare(a.From, b.From) }) {
		return nil, errors.New("the ticks do not rise")
	}
	return list, nil
}

func historyPath(store Store, worker int) string {
	return store.Path(fmt.Sprintf("history/%d", worker))
}

func (t interval) shown() coord.HolderInterval {
	return coord.HolderInterval{
		From: t.From, Host: t.Host, Incarnation: t.Incarnation, Claim: t.Claim,
		Opening: t.Opening, Version: t.Version, Since: since(t.Since),
	}
}
