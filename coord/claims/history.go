package claims

import (
	"errors"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// interval is one opening in a worker ID's history, which is a JSON list of them, the
// newest last. Whoever issued a tick is the last of those that begin below it: nobody who came
// before was granted what is above.
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

// interval is what the history keeps of an opening of our own.
func (c *Coordinator) interval(opened record, since int64) interval {
	return interval{
		From: opened.Ceiling, Host: c.identity.Host, Incarnation: c.identity.Incarnation, Claim: opened.Claim,
		Opening: opened.Holder, Version: c.identity.Version, Since: since,
	}
}

// nextHistory returns a worker ID's history with an opening added, of the record as it was found.
func (c *Coordinator) nextHistory(j *cluster, worker int, stored Entry, found record, opening interval) Entry {
	var list []interval
	if stored.Version != 0 {
		var err error
		if list, err = decodeHistory(stored.Value); err != nil {
			c.log.Warn("a history is damaged and begins anew", "path", c.store.Path(HistoryOf(worker)), "error", err)
		}
	}
	list = follow(j.lost(list, found), opening)
	list = list[max(0, len(list)-c.historyBound):]
	return Entry{Value: encode(list), Version: stored.Version}
}

// before is the host that had the worker ID last by its history, for its preference to be deleted:
// so there is one preference for each worker ID at the most. It is empty for nobody, and for the
// host that opens the record now.
func (c *Coordinator) before(stored Entry) string {
	if stored.Version == 0 || c.identity.Host == "" {
		return ""
	}
	list, err := decodeHistory(stored.Value)
	if err != nil || len(list) == 0 {
		return "" // nextHistory says so
	}
	if last := list[len(list)-1]; last.Host != c.identity.Host {
		return last.Host
	}
	return ""
}

// lost adds what may have been issued and was lost, if the marks were raised over it.
func (j *cluster) lost(list []interval, found record) []interval {
	if j.raised(found) {
		list = follow(list, unknown(found.Ceiling))
	}
	return list
}

// follow adds an entry. Those that begin no lower are never the answer again, so openings
// that issued nothing take no room.
func follow(list []interval, next interval) []interval {
	list = slices.DeleteFunc(slices.Clone(list), func(t interval) bool { return t.From >= next.From })
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
	for i := 1; i < len(list); i++ {
		if list[i].From <= list[i-1].From {
			return nil, errors.New("an entry does not begin above the one before")
		}
	}
	return list, nil
}

func (t interval) shown() coord.HolderInterval {
	return coord.HolderInterval{
		From: t.From, Host: t.Host, Incarnation: t.Incarnation, Claim: t.Claim,
		Opening: t.Opening, Version: t.Version, Since: since(t.Since),
	}
}
