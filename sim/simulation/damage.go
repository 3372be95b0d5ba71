package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// damage is a value of the tree that was spoiled, until an operator puts it right.
type damage struct {
	bad []byte
	now func() []byte // what is there now
	put func()        // puts a right value in its place
}

// spoil puts a bad value in the place of a right one for a while.
func (sim *Simulation) spoil(f Fault, d *damage) bool {
	sim.damaged = append(sim.damaged, d)
	return sim.until(f, func() { sim.mend(d) })
}

// mend puts one value right, if nobody else has.
func (sim *Simulation) mend(d *damage) {
	for i, other := range sim.damaged {
		if other == d {
			sim.damaged = append(sim.damaged[:i], sim.damaged[i+1:]...)
			if bytes.Equal(d.now(), d.bad) {
				d.put()
			}
			return
		}
	}
}

// mendAll puts everything right.
func (sim *Simulation) mendAll() {
	for len(sim.damaged) > 0 {
		sim.mend(sim.damaged[0])
	}
}

// damageTree spoils what the coordinator keeps.
func (sim *Simulation) damageTree(f Fault, s *slot) bool {
	switch f.Kind {
	case DamagedLayout:
		return sim.damageLayout(f)
	case DamagedRecord:
		return sim.damageRecord(f, s)
	default:
		return sim.damageHint(f, s)
	}
}

func (sim *Simulation) damageLayout(f Fault) bool {
	right := sim.tree.Layout()
	if clusterOf(right) == "" || len(sim.damaged) > 0 {
		return false
	}
	var text struct{ Layout string }
	_ = json.Unmarshal(right, &text)
	with := func(fields string) []byte {
		var all map[string]json.RawMessage
		_ = json.Unmarshal(right, &all)
		_ = json.Unmarshal([]byte(strings.ReplaceAll(fields, "LAYOUT", text.Layout)), &all)
		b, _ := json.Marshal(all)
		return b
	}
	bad := pick(sim.random, []byte("{"), append(bytes.Clone(right), "{}"...), with(`{"uuid":""}`), with(`{"floor":-1}`), with(`{"window":-1}`), with(`{"workers":100000000}`),
		with(`{"above":-1}`), with(`{"above":1}`), with(`{"range":{"first":0,"count":-1}}`), with(`{"exported":"none"}`),
		with(`{"layout":"time=40@1ms,worker=2,sequence=8;epoch=2020-01-01"}`),
		with(`{"layout":"LAYOUT; exported, or being imported","exported":true}`),
		with(`{"layout":"LAYOUT; with --worker-range or --above-id, which takes a later version","range":{"first":0,"count":1}}`))
	sim.tree.SetLayout(bad)
	return sim.spoil(f, &damage{bad, sim.tree.Layout, func() { sim.tree.SetLayout(right) }})
}

// damagedLayout reports whether the cluster record is spoiled now.
func (sim *Simulation) damagedLayout() bool {
	return slices.ContainsFunc(sim.damaged, func(d *damage) bool { return bytes.Equal(d.bad, sim.tree.Layout()) })
}

func (sim *Simulation) damageRecord(f Fault, s *slot) bool {
	worker := sim.workerOf(s)
	right := sim.tree.Record(worker)
	if len(right) == 0 {
		return false
	}
	for _, d := range sim.damaged {
		if bytes.Equal(right, d.bad) {
			return false
		}
	}
	bad := pick(sim.random, []byte("{"), append(bytes.Clone(right), "{}"...), []byte(`{"ceiling":-1,"holder":"x","nonce":"x"}`), []byte(`{"ceiling":1,"nonce":"x"}`))
	sim.tree.SetRecord(worker, bad)
	return sim.spoil(f, &damage{bad, func() []byte { return sim.tree.Record(worker) }, func() {
		// As docs/coordination.md says: it is set, with a ceiling that is late enough.
		sim.tree.SetRecord(worker, fmt.Appendf(nil, `{"ceiling":%d,"holder":"operator%d","nonce":"%d"}`, sim.highest, sim.operators.Uint64(), sim.operators.Uint64()))
	}})
}

// damageHint spoils what nothing rests on.
func (sim *Simulation) damageHint(_ Fault, s *slot) bool {
	if sim.random.IntN(4) == 0 {
		sim.tree.SetHost(s.hostName, []byte("x"))
		return true
	}
	sim.tree.SetHistory(sim.workerOf(s), pick(sim.random, []byte("["), []byte(`[{"from":-1}]`), []byte(`[{"from":2},{"from":1}]`)))
	return true
}

// workerOf is the worker ID that a daemon holds, or any.
func (sim *Simulation) workerOf(s *slot) int {
	if s.proc != nil {
		if worker := s.proc.holder.Holding().Worker; worker >= 0 {
			return worker
		}
	}
	return sim.random.IntN(sim.layout.Workers())
}

// clear deletes the claim that a daemon uses.
func (sim *Simulation) clear(s *slot) bool {
	if s.proc == nil {
		return false
	}
	claim := s.proc.holder.Holding().Claim
	o, err := sim.asOperator()
	if err != nil || claim == "" {
		return false
	}
	if _, err := o.Inspect(context.Background()); err != nil {
		return false
	}
	return o.Clear(context.Background(), claim) == nil
}
