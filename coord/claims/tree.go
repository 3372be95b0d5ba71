package claims

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/flakeward/flakeward/coord"
)

// tree is all claims, and then all records.
type tree struct {
	cluster *cluster
	owners  map[int]Node // by worker ID: the claim that was created first
	records map[int]record
	damaged map[int]bool // worker IDs whose records cannot be read
}

// list reads the tree.
func (c *Coordinator) list(ctx context.Context) (tree, error) {
	t := tree{owners: map[int]Node{}, records: map[int]record{}, damaged: map[int]bool{}}
	var found []Node
	var records map[int]Entry
	err := c.cluster.inCluster(ctx, func(j *cluster) (err error) {
		t.cluster = j
		if found, err = c.store.Claims(ctx, j.entry, true); err == nil {
			records, err = c.records(ctx, j.entry)
		}
		return err
	})
	if err != nil {
		return tree{}, err
	}
	for _, n := range found {
		first, ok := t.owners[n.Worker]
		if !ok || n.Created < first.Created {
			t.owners[n.Worker] = n
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(records)) { // in order, as what is logged is
		r, err := readRecord(c.store, worker, records[worker])
		if err != nil {
			t.damaged[worker] = true
			c.log.Error("a worker ID is not assigned", "worker", worker, "error", err)
			continue
		}
		t.records[worker] = r
	}
	return t, nil
}

// records reads all records.
func (c *Coordinator) records(ctx context.Context, layout Entry) (map[int]Entry, error) {
	all := map[int]Entry{}
	err := c.store.Records(ctx, layout, 0, func(worker int, record Entry) bool {
		all[worker] = record
		return true
	})
	return all, err
}

// read returns what is stored under a key.
func (c *Coordinator) read(ctx context.Context, key string) (stored Entry, err error) {
	err = c.cluster.inCluster(ctx, func(j *cluster) (err error) {
		stored, err = c.store.Read(ctx, j.entry, key)
		return err
	})
	return stored, err
}

// readRecord names a record that cannot be read.
func readRecord(store Store, worker int, stored Entry) (record, error) {
	r, err := decodeRecord(stored.Value)
	if err != nil {
		path := store.Path(RecordOf(worker))
		return record{}, fmt.Errorf("%s: the record %s cannot be read and is not overwritten; put it back with a ceiling that is late enough: %w (%w)", store.Name(), path, errDamaged, err)
	}
	return r, nil
}

// Members implements coord.Coordinator and coord.Operator.
func (c *Coordinator) Members(ctx context.Context) ([]coord.Member, error) {
	t, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	members := make([]coord.Member, 0, len(t.owners))
	for _, worker := range slices.Sorted(maps.Keys(t.owners)) {
		if !t.cluster.inLayout(worker) {
			continue
		}
		owner, r := t.owners[worker], t.records[worker]
		who, err := decodeMember(owner.Value)
		if err != nil {
			c.log.Warn("a claim's value is damaged: its member is shown without a name", "claim", owner.Name, "error", err)
		}
		m := coord.Member{
			Worker: worker, Host: who.Host, PID: who.PID, Incarnation: who.Incarnation, Version: who.Version, Boot: who.Boot,
			Claim: owner.Name, Since: since(who.Since), Ceiling: t.cluster.found(r).Ceiling, Issued: r.Issued, Time: r.Time,
		}
		if r.Claim == owner.Name {
			m.Opening = r.Holder
		}
		members = append(members, m)
	}
	return members, nil
}
