package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
)

// node is a claim node as a listing shows it.
type node struct {
	name    string
	created int64
	value   []byte
}

// tree is all claims and records as of one revision.
type tree struct {
	owners  map[int]node // by worker ID: the claim that was created first
	records map[int]record
	damaged map[int]bool // worker IDs whose records cannot be read
}

// list reads the tree.
func (c *Coordinator) list(ctx context.Context, j joined) (tree, error) {
	resp, err := c.inCluster(ctx, j, kindList, nil, []clientv3.Op{
		clientv3.OpGet(c.keys.claims(), clientv3.WithPrefix()),
		clientv3.OpGet(c.keys.workers(), clientv3.WithPrefix()),
	}, nil)
	if err != nil {
		return tree{}, err
	}
	t := tree{owners: map[int]node{}, records: map[int]record{}, damaged: map[int]bool{}}
	for _, kv := range kvsAt(resp, 0) {
		name, ok := parseName(c.keys.nameOf(string(kv.Key)))
		if !ok {
			continue // nobody's claim: it names no worker ID
		}
		first, ok := t.owners[name.worker]
		if !ok || kv.CreateRevision < first.created {
			t.owners[name.worker] = node{name: name.String(), created: kv.CreateRevision, value: kv.Value}
		}
	}
	for _, kv := range kvsAt(resp, 1) {
		worker, ok := c.keys.workerOf(string(kv.Key))
		if !ok {
			continue
		}
		if t.records[worker], err = c.decodeRecord(kv); err != nil {
			t.damaged[worker] = true
			c.log.Error("a worker ID is not dealt", "worker", worker, "error", err)
		}
	}
	return t, nil
}

// decodeRecord names the key of a record that cannot be read.
func (c *Coordinator) decodeRecord(kv *mvccpb.KeyValue) (record, error) {
	r, err := decodeRecord(kv.Value)
	if err != nil {
		return record{}, fmt.Errorf("%s: the record %s cannot be read and is not overwritten; put it back with a ceiling that is late enough: %w (%w)", c.name(), kv.Key, errDamaged, err)
	}
	return r, nil
}

// Members implements coord.Coordinator.
func (c *Coordinator) Members(ctx context.Context) ([]coord.Member, error) {
	j, err := c.ready()
	if err != nil {
		return nil, err
	}
	t, err := c.list(ctx, j)
	if err != nil {
		return nil, err
	}
	members := make([]coord.Member, 0, len(t.owners))
	for worker := range j.workers {
		owner, ok := t.owners[worker]
		if !ok {
			continue
		}
		who, err := decodeMember(owner.value)
		if err != nil {
			c.log.Warn("a claim's value is damaged: its member is shown without a name", "claim", owner.name, "error", err)
		}
		r := t.records[worker]
		m := coord.Member{
			Worker: worker, Host: who.Host, PID: who.PID, Incarnation: who.Incarnation, Version: who.Version,
			Claim: owner.name, Ceiling: r.Ceiling, Issued: r.Issued, Mark: r.Mark,
		}
		if r.Claim == owner.name {
			m.Opening = r.Holder
		}
		members = append(members, m)
	}
	return members, nil
}
