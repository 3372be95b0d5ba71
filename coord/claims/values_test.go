package claims

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func FuzzDecodeRecord(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			if !reflect.DeepEqual(r, record{}) {
				t.Errorf("%q: error %v together with %+v", b, err, r)
			}
			return
		}
		if r.Ceiling < 0 || r.Issued < 0 || r.Mark < 0 || r.Holder == "" || r.Nonce == "" {
			t.Errorf("%q was taken as %+v", b, r)
		}
		if again, err := decodeRecord(encode(r)); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v encodes to %+v, %v", r, again, err)
		}
	})
}

func FuzzDecodeLayout(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decodeLayout(b)
		if err != nil {
			if l != (layout{}) {
				t.Errorf("%q: error %v together with %+v", b, err, l)
			}
			return
		}
		if l.isApart() && !strings.Contains(string(encode(l)), apart) {
			t.Errorf("%q: an earlier version takes %s", b, encode(l))
		}
		if l.Layout == "" || l.UUID == "" || l.Floor < 0 || l.Window < 0 || l.Workers < 0 || l.Workers > coord.MaxWorkers {
			t.Errorf("%q was taken as %+v", b, l)
		}
		if again, err := decodeLayout(encode(l)); err != nil || !reflect.DeepEqual(again, l) {
			t.Errorf("%+v encodes to %+v, %v", l, again, err)
		}
	})
}

// A version from before the range, or the tick that all begin above, takes the record for one of
// another layout. A record without them is stored as it was before them.
func TestALayoutRecordWithARangeIsNoneToEarlierVersions(t *testing.T) {
	const text, uuid = "time=41;datacenter=0", "u"
	ids := coord.WorkerRange{First: 2, Count: 3}
	plain := layout{Layout: text, UUID: uuid, Workers: 8, Floor: 7, Epoch: "E", Window: 9}
	for _, test := range []struct {
		name  string
		l     layout
		apart bool
		want  string // as it is stored; empty: not compared
	}{
		{name: "plain", l: plain, want: `{"layout":"time=41;datacenter=0","uuid":"u","workers":8,"floor":7,"era":"E","window":9}`},
		{name: "range", l: layout{Layout: text, UUID: uuid, Workers: 8, Range: ids, Numbered: ids}, apart: true},
		{name: "widened to all", l: layout{Layout: text, UUID: uuid, Workers: 8, Numbered: ids}, apart: true},
		{name: "range of all when made", l: layout{Layout: text, UUID: uuid, Workers: 8, Range: ids}, apart: true},
		{name: "exported", l: layout{Layout: text, UUID: uuid, Exported: true}, apart: true},
		{name: "importing", l: layout{Layout: text, UUID: uuid, Numbered: coord.WorkerRange{Count: 1}, Importing: "s"}, apart: true},
	} {
		b := encode(test.l)
		var stored struct{ Layout string } // what an earlier version reads
		must.Do(t, json.Unmarshal(b, &stored))
		if (stored.Layout == text) == test.apart || test.want != "" && string(b) != test.want {
			t.Errorf("%s: stored as %s", test.name, b)
		}
		if again, err := decodeLayout(b); err != nil || !reflect.DeepEqual(again, test.l) {
			t.Errorf("%s: read back as %+v, %v", test.name, again, err)
		}
	}
	// What such a version writes is not taken.
	for _, b := range []string{
		`{"layout":"l","uuid":"u","workers":8,"range":{"first":2,"count":3}}`,
		`{"layout":"l","uuid":"u","workers":8,"numbered":{"first":2,"count":3}}`,
		`{"layout":"l","uuid":"u","workers":8,"above":5}`,
		`{"layout":"l` + apart + `","uuid":"u","workers":8}`,
		`{"layout":"l` + apart + `","uuid":"u","workers":8,"above":5,"range":{"first":2,"count":3}}`,
		`{"layout":"l","uuid":"u","exported":true}`,
		`{"layout":"l` + unserved + `","uuid":"u"}`,
		`{"layout":"` + unserved + `","uuid":"u","exported":true}`,
	} {
		if l, err := decodeLayout([]byte(b)); err == nil || l != (layout{}) {
			t.Errorf("%s was taken as %+v, %v", b, l, err)
		}
	}
}

func FuzzDecodeMember(f *testing.F) {
	f.Add([]byte(`{"host":"h","pid":7,"incarnation":"I1","version":"v1","since":1700000000000}`))
	f.Add([]byte(`{"since":-9223372036854775808}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		who, err := decodeMember(b)
		if err != nil && who != (member{}) {
			t.Errorf("%q: error %v together with %+v", b, err, who)
		}
		if again, err := decodeMember(encode(who)); err != nil || again != who {
			t.Errorf("%+v encodes to %+v, %v", who, again, err)
		}
		if at := since(who.Since); at.IsZero() != (who.Since <= 0) || !at.IsZero() && at.UnixMilli() != who.Since {
			t.Errorf("%q: since %d is shown as %v", b, who.Since, at)
		}
	})
}

func FuzzDecodeHost(f *testing.F) {
	for _, b := range []string{"0", "17", "0017", "0x11", "1_7", "-1", "4194304"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		worker, err := decodeHost(b)
		if err != nil && worker != 0 || worker < 0 || worker >= coord.MaxWorkers {
			t.Errorf("%q: %d, %v", b, worker, err)
		}
		if err == nil && strconv.Itoa(worker) != "0" && strconv.Itoa(worker) != strings.TrimLeft(string(b), "0") {
			t.Errorf("%q is worker ID %d", b, worker)
		}
	})
}

// The test of invariant 6, over all cases that differ.
func TestContinues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"", "A", "B"})
		mark := rapid.Custom(func(t *rapid.T) generator.Tick { return generator.Tick(rapid.Int64Range(0, 3).Draw(t, "")) })
		j := &cluster{epoch: ids.Draw(t, "epoch"), floor: generator.Tick(rapid.Int64Range(7, 11).Draw(t, "floor"))}
		opening := func(of string) (id string) {
			if token := ids.Draw(t, of); token != "" {
				id = coord.OpeningID(token, ids.Draw(t, of+"'s epoch"))
			}
			return id
		}
		r := record{Holder: opening("holder"), Mark: mark.Draw(t, "record's mark"), Ceiling: 9}
		q := coord.Request{Opening: opening("opening"), Mark: mark.Draw(t, "journal_mark")}
		want := r.Holder != "" && r.Holder == q.Opening && q.Mark >= r.Mark && coord.ClusterEpochOf(r.Holder) == j.epoch
		if got := j.continues(r, q); got != want {
			t.Fatalf("%+v for %+v continues: %v", r, q, got)
		}
		floor := max(9, j.floor)
		if want {
			floor = q.Mark
		}
		if got := j.floorFor(r, q); got != floor {
			t.Fatalf("%+v for %+v has floor %d, want %d", r, q, got, floor)
		}
	})
}

// A release goes down to what the claim's own grants began above, and never below what
// all marks were raised to.
func TestLeastOf(t *testing.T) {
	r := record{Ceiling: 100, Issued: 40}
	for _, test := range []struct {
		floor     generator.Tick
		continues bool
		want      generator.Tick
	}{{0, false, 100}, {0, true, 40}, {70, false, 100}, {70, true, 70}, {200, false, 200}, {200, true, 200}} {
		if got := (&cluster{floor: test.floor}).opening(r, coord.Request{}, test.continues).minimum; got != test.want {
			t.Errorf("raised to %d, continues %v: %d, want %d", test.floor, test.continues, got, test.want)
		}
	}
}
