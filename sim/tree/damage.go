package tree

import "github.com/flakeward/flakeward/coord/claims"

// SetLayout changes the cluster record, whatever it was.
func (t *Tree) SetLayout(value []byte) {
	t.layout = claims.Entry{Value: value, Version: t.next(t.layout)}
}

// SetRecord changes a record.
func (t *Tree) SetRecord(worker int, value []byte) {
	t.records[worker] = claims.Entry{Value: value, Version: t.next(t.records[worker])}
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
