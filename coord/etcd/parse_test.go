package etcd

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/coord"
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
	good := nodeName{worker: 31, number: "12", incarnation: "Inc1", nonce: "N0"}
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
