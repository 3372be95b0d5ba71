package etcd

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

func TestKeysSortByWorkerID(t *testing.T) {
	k := keys{root: "/x/"}
	rapid.Check(t, func(t *rapid.T) {
		worker := rapid.IntRange(0, coord.MaxWorkers-1)
		a, b := worker.Draw(t, "a"), worker.Draw(t, "b")
		if (a < b) != (k.record(a) < k.record(b)) || (a < b) != (k.claimsOn(a) < k.claimsOn(b)) {
			t.Fatalf("%d and %d sort as %q and %q", a, b, k.record(a), k.record(b))
		}
		if got, ok := k.workerOf(k.record(a)); !ok || got != a {
			t.Fatalf("%q is worker ID %d, %v", k.record(a), got, ok)
		}
		if a != b && strings.HasPrefix(k.claimsOn(a), k.claimsOn(b)) {
			t.Fatalf("claims on %d are among those on %d", a, b)
		}
	})
}

func TestHostKeysAreApart(t *testing.T) {
	k := keys{root: "/x/"}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if a != b && k.host(a) == k.host(b) {
			t.Fatalf("hosts %q and %q share the key %q", a, b, k.host(a))
		}
		if strings.Contains(strings.TrimPrefix(k.host(a), "/x/hosts/"), "/") {
			t.Fatalf("host %q has the key %q", a, k.host(a))
		}
	})
}

func TestNodeNames(t *testing.T) {
	good := nodeName{worker: 31, ticket: "12", incarnation: "Inc1", nonce: "N0"}
	if got, ok := parseName(good.String()); !ok || got != good || good.String() != "0000031-12-Inc1-N0" {
		t.Errorf("%q parses as %+v, %v", good, got, ok)
	}
	for _, bad := range []string{
		"", "-", "---", "0000031-12-Inc1", "0000031-12-Inc1-N0-x", "31-12-Inc1-N0", "0000031-012-Inc1-N0",
		"0000031--Inc1-N0", "0000031-12--N0", "0000031-12-Inc1-", "-000031-12-Inc1-N0", "0000031-+1-Inc1-N0",
		"0000031-12-In c-N0", "0000031-12-a/b-N0", "../0031-s-a-b", "00000x1-s-a-b",
	} {
		if got, ok := parseName(bad); ok {
			t.Errorf("%q parses as %+v", bad, got)
		}
	}
}

func FuzzParseName(f *testing.F) {
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := parseName(s); ok && n.String() != s {
			t.Errorf("%q parses as %+v, which is %q", s, n, n)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			if r != (record{}) {
				t.Errorf("%q: error %v together with %+v", b, err, r)
			}
			return
		}
		if r.Ceiling < 0 || r.Issued < 0 || r.Mark < 0 || r.Holder == "" || r.Nonce == "" {
			t.Errorf("%q was taken as %+v", b, r)
		}
		if again, err := decodeRecord([]byte(encode(r))); err != nil || again != r {
			t.Errorf("%+v encodes to %+v, %v", r, again, err)
		}
	})
}

func FuzzDecodeLayout(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decodeLayout(b)
		if err == nil && (l.Layout == "" || l.UUID == "") {
			t.Errorf("%q was taken as %+v", b, l)
		}
	})
}

func FuzzDecodeMember(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if who, err := decodeMember(b); err != nil && who != (coord.Identity{}) {
			t.Errorf("%q: error %v together with %+v", b, err, who)
		}
	})
}

// The test of invariant 6, over all cases that differ.
func TestContinues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"", "A", "B"})
		mark := rapid.Custom(func(t *rapid.T) generator.Tick { return generator.Tick(rapid.Int64Range(0, 3).Draw(t, "")) })
		r := record{Holder: id.Draw(t, "holder"), Mark: mark.Draw(t, "record's mark"), Ceiling: 9}
		q := coord.Request{Opening: id.Draw(t, "opening"), Mark: mark.Draw(t, "journal's mark")}
		want := r.Holder != "" && r.Holder == q.Opening && q.Mark >= r.Mark
		if got := r.continues(q); got != want {
			t.Fatalf("%+v for %+v continues: %v", r, q, got)
		}
		floor := r.Ceiling
		if want {
			floor = q.Mark
		}
		if got := r.floorFor(q); got != floor {
			t.Fatalf("%+v for %+v has floor %d, want %d", r, q, got, floor)
		}
	})
}
