package claims

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"testing"
)

// FuzzNames: a name or a key tells one thing, and leads to no other key.
func FuzzNames(f *testing.F) {
	f.Add("0000007-INCARNATION-TOKEN", "h1.example")
	f.Add("4194303-i-t-0000000001", "a/b")
	f.Add("4194304-i-t--2147483648", "..")
	f.Add("+000007", "%2F")
	f.Add("00000007-i/-t-", strings.Repeat("x", 300))
	f.Fuzz(func(t *testing.T, name, host string) {
		if worker, ok := ParseWorker(name); ok && Pad(worker) != name {
			t.Errorf("%q is worker ID %d", name, worker)
		}
		if n, ok := ParseName(name); ok && (!strings.HasPrefix(name, nameOf(n.Worker, n.Incarnation, n.Token)) || strings.ContainsAny(name, "/.")) {
			t.Errorf("%q is read as %+v", name, n)
		}
		key := HostOf(host)
		escaped, below := strings.CutPrefix(key, "hosts/")
		if !below || strings.Contains(escaped, "/") || host != "" && path.Clean(key) != key || len(escaped) > 255 {
			t.Errorf("host %q has the key %q", host, key)
		}
		if back, err := url.PathUnescape(escaped); len(escaped) <= longest && !strings.HasPrefix(escaped, "%-") && (err != nil || back != host) {
			t.Errorf("host %q has the key %q, which is of %q, %v", host, key, back, err)
		}
	})
}

func TestNames(t *testing.T) {
	for _, created := range []int64{0, 17, -2147483648} {
		name := nameOf(7, "inc", "tok") + fmt.Sprintf("-%010d", created)
		n, ok := ParseName(name)
		if want := (Node{Name: name, Worker: 7, Incarnation: "inc", Token: "tok", Created: created}); !ok || fmt.Sprint(n) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v; want %+v", name, n, ok, want)
		}
	}
	for _, bad := range []string{"", "-", "0000007", "0000007-inc", "0000007--tok", "0000007-inc-", "0000007-in/c-tok", "007-inc-tok", "4194304-inc-tok", "-000007-inc-tok", "0000007-inc-tok-", "0000007-inc-tok-1-2"} {
		if n, ok := ParseName(bad); ok {
			t.Errorf("%q is taken for %+v", bad, n)
		}
	}
	if one, other := HostOf(strings.Repeat("x", 300)), HostOf(strings.Repeat("x", 301)); one == other {
		t.Errorf("two hosts have the key %s", one)
	}
}
