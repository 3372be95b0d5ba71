package tree

import "github.com/flakeward/flakeward/coord/claims"

// SetLayout changes the cluster record, whatever it was.
func (t *Tree) SetLayout(value []byte) {
	t.layout = claims.Entry{Value: value, Version: t.next(t.layout)}
}

// SetRecord changes a record. If anew, it is deleted and made again, and its versions start over
// where each has its own.
func (t *Tree) SetRecord(worker int, value []byte, anew bool) {
	was := t.records[worker]
	if anew {
		was = claims.Entry{}
	}
	t.records[worker] = claims.Entry{Value: value, Version: t.next(was)}
}

// SetHistory changes a history.
func (t *Tree) SetHistory(worker int, value []byte) {
	t.history[worker] = claims.Entry{Value: value, Version: t.next(t.history[worker])}
}

// SetHost changes which worker ID a host had last.
func (t *Tree) SetHost(host string, value []byte) {
	key := claims.HostOf(host)
	t.hosts[key] = claims.Entry{Value: value, Version: t.next(t.hosts[key])}
}
