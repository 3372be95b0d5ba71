package cluster

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

func TestHolder(t *testing.T) {
	// Three openings, the second of which issued nothing; then all that is known of
	// the first is cut.
	entry := func(from generator.Tick, host string) coord.Interval {
		return coord.Interval{From: from, Host: host, Incarnation: "of " + host}
	}
	three := []coord.Interval{entry(0, "a"), entry(500, "b"), entry(500, "c"), entry(900, "d")}
	cut := three[2:]
	// Restored when the record said 900, and raised to 2000; then opened by e.
	restored := []coord.Interval{entry(0, "a"), {From: 900}, entry(2000, "e")}
	record := &coord.Mark{Worker: 3, Ceiling: 1000}
	for _, k := range []struct {
		name    string
		floor   generator.Tick
		tick    generator.Tick
		worker  uint64
		mark    *coord.Mark
		history []coord.Interval
		verdict Verdict
		host    string
		note    string // part of it; empty: none
	}{
		{"the first tick", 0, 1, 3, record, three, Held, "a", ""},
		{"the last of the first", 0, 500, 3, record, three, Held, "a", ""},
		{"the first of the next that issued", 0, 501, 3, record, three, Held, "c", ""},
		{"the last of that", 0, 900, 3, record, three, Held, "c", ""},
		{"the last one's", 0, 901, 3, record, three, Held, "d", ""},
		{"the ceiling", 0, 1000, 3, record, three, Held, "d", ""},
		{"above the ceiling", 0, 1001, 3, record, three, Ungranted, "", "granted worker ID 3 up to 2026-01-01T00:00:01.000Z"},
		{"tick 0", 0, 0, 3, record, three, Ungranted, "", "never issued"},
		{"just after what was cut", 0, 501, 3, record, cut, Held, "c", ""},
		{"just before", 0, 500, 3, record, cut, Forgotten, "", "no longer known: the oldest entry begins at 2026-01-01T00:00:00.501Z"},
		{"long before", 0, 1, 3, record, cut, Forgotten, "", "no longer known"},
		{"a record without a history", 0, 700, 3, record, nil, Forgotten, "", "no longer known"},
		{"above a record without a history", 0, 1700, 3, record, nil, Ungranted, "", "granted"},
		{"nobody", 0, 700, 4, nil, nil, Nobody, "", "nobody ever held worker ID 4"},
		{"a worker ID that is not dealt", 0, 700, 1 << 22, nil, nil, Nobody, "", "the highest that is dealt is 1023"},
		{"a damaged record", 0, 5000, 3, &coord.Mark{Damaged: true}, three, Held, "d", "damaged"},
		{"a record that is gone", 0, 5000, 3, nil, three, Ungranted, "", "granted"},
		{"restored, before the backup", 2000, 900, 3, &coord.Mark{Ceiling: 3000}, restored, Held, "a", "whoever came after the backup is not known"},
		{"restored, after the backup", 2000, 901, 3, &coord.Mark{Ceiling: 3000}, restored, Forgotten, "", "raised to 2026-01-01T00:00:02.000Z"},
		{"restored, the last before the raise", 2000, 2000, 3, &coord.Mark{Ceiling: 3000}, restored, Forgotten, "", "raised"},
		{"restored, after the raise", 2000, 2001, 3, &coord.Mark{Ceiling: 3000}, restored, Held, "e", ""},
		{"restored, not opened since", 2000, 2001, 3, &coord.Mark{Ceiling: 2000}, restored[:2], Ungranted, "", "granted"},
		{"restored without a record", 2000, 1500, 4, nil, restored[1:2], Forgotten, "", "raised"},
		{"restored without a record, above", 2000, 2001, 4, nil, restored[1:2], Nobody, "", "nobody ever held"},
		{"raised since, the last holder", 2000, 950, 3, &coord.Mark{Ceiling: 2000}, three, Held, "d", "raised to 2026-01-01T00:00:02.000Z"},
		{"raised since, up to the floor", 2000, 2000, 3, &coord.Mark{Ceiling: 2000}, three, Held, "d", "raised"},
		{"raised since, an earlier one", 2000, 700, 3, &coord.Mark{Ceiling: 2000}, three, Held, "c", ""},
		{"raised since, opened after it", 850, 901, 3, record, three, Held, "d", ""},
		{"raised between two", 900, 899, 3, record, three, Held, "c", "raised"},
		{"raised before the tick", 850, 870, 3, record, three, Held, "c", ""},
		{"raised, and no record", 2000, 950, 4, nil, nil, Forgotten, "", "raised"},
		{"raised, no record, and above", 2000, 2001, 4, nil, nil, Nobody, "", "nobody ever held"},
		{"raised above the record", 2000, 1500, 3, record, nil, Forgotten, "", "no longer known"},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := sample(t, text, k.floor)
			got := c.Holder(generator.Parts{Tick: k.tick, Worker: k.worker}, k.mark, k.history)
			host := ""
			if got.Interval != nil {
				host = got.Interval.Host
			}
			if got.Verdict != k.verdict || host != k.host || !strings.Contains(got.Note, k.note) || (k.note == "") != (got.Note == "") {
				t.Errorf("got %s, host %q, note %q; want %s, %q, %q", got.Verdict, host, got.Note, k.verdict, k.host, k.note)
			}
		})
	}
	t.Run("datacenters", func(t *testing.T) {
		c := sample(t, "time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2026-01-01T00:00:00Z;datacenter=9", 0)
		if got := c.Holder(generator.Parts{Tick: 700, Datacenter: 8, Worker: 3}, record, three); got.Verdict != Elsewhere || got.Interval != nil || !strings.Contains(got.Note, "datacenter 8 and this cluster is datacenter 9") {
			t.Errorf("another datacenter: %+v", got)
		}
		if got := c.Holder(generator.Parts{Tick: 700, Datacenter: 9, Worker: 3}, record, three); got.Verdict != Held || got.Interval.Host != "c" {
			t.Errorf("the cluster's own: %+v", got)
		}
	})
}
