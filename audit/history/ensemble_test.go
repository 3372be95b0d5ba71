package history

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// z is a zxid.
func z(epoch, place int64) int64 { return epoch<<32 | place }

// run is the zxids of an epoch from one place to another.
func run(epoch, from, to int64) (all []int64) {
	for place := from; place <= to; place++ {
		all = append(all, z(epoch, place))
	}
	return all
}

func union(parts ...[]int64) []int64 { return slices.Concat(parts...) }

func settledOf(servers ...server) ([]int64, error) {
	e := ensemble{servers: servers, matters: func(int64) bool { return true }}
	for i := range servers {
		servers[i].name = "server " + string(rune('A'+i))
		e.logged = append(e.logged, servers[i].log...)
	}
	slices.Sort(e.logged)
	e.logged = slices.Compact(e.logged)
	return e.settled()
}

func TestSettled(t *testing.T) {
	start := []int64{0}
	full := union(run(1, 1, 5), run(2, 1, 3))
	for name, c := range map[string]struct {
		servers []server
		want    []int64
		err     string // a part of the error
	}{
		"nothing yet":                {servers: []server{{}, {snapshots: start}, {}}},
		"one server":                 {servers: []server{{log: run(0, 1, 9), snapshots: []int64{0, z(0, 4)}}}, want: run(0, 1, 9)},
		"all have all":               {servers: []server{{log: full, snapshots: start}, {log: full}, {log: full}}, want: full},
		"a minority's end":           {servers: []server{{log: run(1, 1, 5), snapshots: start}, {log: run(1, 1, 3)}, {log: run(1, 1, 3)}}, want: run(1, 1, 3)},
		"a majority's end":           {servers: []server{{log: run(1, 1, 5), snapshots: start}, {log: run(1, 1, 4)}, {log: run(1, 1, 3)}}, want: run(1, 1, 4)},
		"a snapshot counts":          {servers: []server{{log: run(1, 1, 5), snapshots: start}, {log: run(1, 1, 3), snapshots: []int64{z(1, 4)}}, {}}, want: run(1, 1, 4)},
		"one of a later epoch may":   {servers: []server{{log: run(1, 1, 5), snapshots: start}, {log: run(1, 1, 3), snapshots: []int64{z(2, 0)}}, {log: run(1, 1, 3)}}, err: "read again"},
		"rolled back, out of reach":  {servers: []server{{log: run(1, 1, 7)}, {log: full, snapshots: start}, {log: full}}, want: full},
		"rolled back, sent the rest": {servers: []server{{log: union(run(1, 1, 7), run(2, 3, 3)), snapshots: []int64{0, z(2, 2)}}, {log: full}, {log: full}}, want: full},
		"rolled back, epoch's start": {servers: []server{{log: union(run(1, 1, 7), run(2, 1, 3)), snapshots: []int64{0, z(2, 0)}}, {log: full}, {log: full}}, want: full},
		"the leader's alone, kept": {servers: []server{{log: full, snapshots: start},
			{log: union(run(1, 1, 2), run(2, 1, 3)), snapshots: []int64{z(1, 5)}}, {log: run(1, 1, 2)}}, want: full},
		"the logs differ": {servers: []server{{log: full, snapshots: start}, {log: union(run(1, 1, 6), run(2, 1, 3))}, {}}, err: "follows"},
		"passed over": {servers: []server{{log: union(run(1, 1, 4), run(2, 1, 3)), snapshots: start},
			{log: run(1, 1, 5), snapshots: []int64{z(2, 3)}}, {log: run(1, 1, 5)}}, err: "a majority has"},
		"none goes on": {servers: []server{{log: full, snapshots: []int64{0, z(2, 0)}}, {log: union(run(1, 1, 4), run(2, 1, 3)), snapshots: []int64{z(2, 0)}}, {log: run(1, 1, 4)}},
			err: "cannot be told"},
		"purged":                          {servers: []server{{log: run(0, 5, 9), snapshots: []int64{z(0, 6)}}}, err: "not complete"},
		"purged at an epoch's start":      {servers: []server{{log: run(2, 1, 9), snapshots: []int64{z(2, 3)}}}, err: "not complete"},
		"purged, except for the snapshot": {servers: []server{{log: run(2, 1, 9), snapshots: []int64{0, z(1, 8)}}}, err: "not complete"},
		"purged, all of it":               {servers: []server{{snapshots: []int64{z(0, 6)}}}, err: "not complete"},
		"a hole between epochs":           {servers: []server{{log: union(run(1, 1, 3), run(2, 1, 3)), snapshots: []int64{0, z(1, 5)}}}, err: "not complete"},
		"a hole in an epoch":              {servers: []server{{log: union(run(1, 1, 3), run(1, 5, 6)), snapshots: start}}, err: "not complete"},
		"a minority's alone":              {servers: []server{{log: run(1, 1, 3)}, {}, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := settledOf(c.servers...)
			if c.err == "" && (err != nil || !slices.Equal(got, c.want)) {
				t.Errorf("%x, %v; want %x", got, err, c.want)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%x, %v; want an error with %q", got, err, c.err)
			}
		})
	}
}

// zab is a model of an ensemble: who leads, and what each has on its disk.
type zab struct {
	epoch    int64
	leader   int // -1: none
	place    int64
	members  []model
	accepted []int64 // what clients were told of
}

type model struct {
	server
	history []int64 // what its state is, other than what is in its log
	epoch   int64   // that it has joined
	in      bool    // follows now
}

func (m *model) last() int64 {
	if len(m.history) == 0 {
		return 0
	}
	return m.history[len(m.history)-1]
}

func (m *model) snapshot(zxid int64) {
	if at, ok := slices.BinarySearch(m.snapshots, zxid); !ok {
		m.snapshots = slices.Insert(m.snapshots, at, zxid)
	}
}

func (z *zab) majority(of []bool) bool {
	n := 0
	for _, in := range of {
		if in {
			n++
		}
	}
	return n > len(z.members)/2
}

// elect has a majority elect the one with the newest state.
func (z *zab) elect(t *rapid.T, voters []bool) {
	best := -1
	for i := range z.members {
		z.members[i].in = false
		if m := &z.members[i]; voters[i] && (best < 0 || m.epoch > z.members[best].epoch ||
			m.epoch == z.members[best].epoch && m.last() > z.members[best].last()) {
			best = i
		}
	}
	z.epoch++
	z.leader, z.place = best, 0
	z.members[best].in, z.members[best].epoch = true, z.epoch
	z.members[best].snapshot(z.members[best].last())
	for i, votes := range voters {
		if votes {
			z.join(t, i)
		}
	}
	z.commit()
}

// join brings a member to the leader's state: to all of it in an election, and later to
// what was committed, with what was not following in the log.
func (z *zab) join(t *rapid.T, i int) {
	m, leader := &z.members[i], &z.members[z.leader]
	if m.in {
		return
	}
	sent := len(leader.history)
	if z.place > 0 {
		sent = len(z.accepted)
	}
	newest := int64(0)
	if sent > 0 {
		newest = leader.history[sent-1]
	}
	shared := 0
	for shared < min(len(m.history), len(leader.history)) && m.history[shared] == leader.history[shared] {
		shared++
	}
	switch {
	case shared == len(m.history) && rapid.Bool().Draw(t, "diff"):
		sent = shared
	case m.last() > newest: // cut
		at, _ := slices.BinarySearch(m.log, newest+1)
		m.log = m.log[:at]
		m.snapshot(newest)
	default: // sent a snapshot
		if epochOf(newest) != z.epoch && rapid.Bool().Draw(t, "new epoch") {
			newest = z.epoch << 32
		}
		m.snapshot(newest)
	}
	m.log = append(m.log, leader.history[sent:]...)
	m.history = slices.Clone(leader.history)
	m.in, m.epoch = true, z.epoch
}

// commit notes what clients may be told: all that a majority in this epoch has.
func (z *zab) commit() {
	for n := len(z.members[z.leader].history); n > 0; n-- {
		have := make([]bool, len(z.members))
		for i, m := range z.members {
			have[i] = m.epoch == z.epoch && len(m.history) >= n
		}
		if z.majority(have) {
			z.accepted = slices.Clone(z.members[z.leader].history[:n])
			return
		}
	}
}

// propose has the leader log a transaction, and some who follow.
func (z *zab) propose(t *rapid.T) {
	z.place++
	zxid := z.epoch<<32 | z.place
	for i := range z.members {
		m := &z.members[i]
		if i == z.leader || m.in && rapid.IntRange(0, 3).Draw(t, "gets it") > 0 {
			m.log, m.history = append(m.log, zxid), append(m.history, zxid)
		} else {
			m.in = false // it misses this one, so it has to join anew
		}
	}
	z.commit()
}

// Whatever happens, the history is what was committed: all of what clients were told,
// and nothing that was rolled back.
func TestSettledIsWhatWasCommitted(t *testing.T) {
	judged := 0
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.SampledFrom([]int{1, 3, 3, 5}).Draw(t, "members")
		z := zab{leader: -1, members: make([]model, members)}
		for i := range z.members {
			z.members[i].snapshots = []int64{0}
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case z.leader >= 0 && step < 6:
				z.propose(t)
			case z.leader >= 0 && step < 8:
				z.join(t, rapid.IntRange(0, members-1).Draw(t, "who"))
				z.commit()
			default:
				voters := make([]bool, members)
				for i := range voters {
					voters[i] = rapid.Bool().Draw(t, "votes")
				}
				if z.majority(voters) {
					z.elect(t, voters)
				}
			}
		}
		var servers []server
		for _, m := range z.members {
			servers = append(servers, server{log: slices.Clone(m.log), snapshots: slices.Clone(m.snapshots)})
		}
		got, err := settledOf(servers...)
		if err != nil && strings.Contains(err.Error(), "cannot be told") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		judged++
		if len(got) < len(z.accepted) || !slices.Equal(got[:len(z.accepted)], z.accepted) {
			t.Fatalf("settled %x, and clients were told of %x", got, z.accepted)
		}
		// What a majority has is in the state of whoever was elected last.
		if z.leader < 0 {
			return
		}
		if all := z.members[z.leader].history; len(got) > len(all) || !slices.Equal(got, all[:len(got)]) {
			t.Fatalf("settled %x, and the leader has %x", got, all)
		}
	})
	if judged == 0 {
		t.Error("no history could be judged")
	}
	t.Logf("%d histories judged", judged)
}
