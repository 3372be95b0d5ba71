package zk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord/claims"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, c := range []struct {
		name    string
		want    claims.Node
		counted bool
	}{
		{"0000003-s-inc-tok-0000000017", claims.Node{Worker: 3, Number: 17, Incarnation: "inc", Token: "tok"}, true},
		{"4194303-s-s-d-0000000000", claims.Node{Worker: 4194303, Incarnation: "s", Token: "d"}, true},
		{"d-inc-tok-0000000017", claims.Node{Worker: claims.BySequence, Number: 17, Incarnation: "inc", Token: "tok"}, true},
		{"d-s-" + long + "-2147483646", claims.Node{Worker: claims.BySequence, Number: 2147483646, Incarnation: "s", Token: long}, true},
		// Not counted: the node is there, but its number assigns nothing.
		{"d-inc-tok-2147483647", claims.Node{Worker: claims.BySequence, Incarnation: "inc", Token: "tok"}, false},
		{"d-inc-tok--2147483648", claims.Node{Worker: claims.BySequence, Incarnation: "inc", Token: "tok"}, false},
		{"d-inc-tok--000000005", claims.Node{Worker: claims.BySequence, Incarnation: "inc", Token: "tok"}, false},
		{"0000003-s-inc-tok-2147483647", claims.Node{Worker: 3, Incarnation: "inc", Token: "tok"}, false},
		{"0000003-s-inc-tok--2147483648", claims.Node{Worker: 3, Incarnation: "inc", Token: "tok"}, false},
	} {
		c.want.Name = c.name
		node, counted, ok := parseAny(c.name)
		if !ok || counted != c.counted || fmt.Sprint(node) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, %v, %v; want %+v, %v", c.name, node, counted, ok, c.want, c.counted)
		}
		if _, named := parseName(c.name); named != (c.counted || c.want.Worker != claims.BySequence) {
			t.Errorf("%s names a worker ID: %v", c.name, named)
		}
	}
	for _, bad := range []string{
		"", "-", "d", "d-", "d-inc-tok", "d-inc-tok-", "d-inc-tok-17", "d-inc-tok-00000000017", "d-inc-tok-+000000017",
		"d-inc-tok-000000001x", "d--tok-0000000017", "d-inc--0000000017", "d-in/c-tok-0000000017", "d-" + long + "x-tok-0000000017",
		"d-inc-tok-2147483648", "d-inc-tok-0000000017-", "d-inc-tok--17", "d-inc-tok---21474836480", "D-inc-tok-0000000017",
		"0000003-inc-tok-0000000017", "003-s-inc-tok-0000000017", "-000003-s-inc-tok-0000000017", "0000003-t-inc-tok-0000000017",
		"00000003-s-inc-tok-0000000017", "000000x-s-inc-tok-0000000017", "_c_0123-d-inc-tok-0000000017",
	} {
		if node, _, ok := parseAny(bad); ok {
			t.Errorf("%q is taken for %+v", bad, node)
		}
	}
	for _, worker := range []int{claims.BySequence, 0, 77, 4194303} {
		claim := claims.Claimant{Worker: worker, Token: "tok"}
		node, ok := parseName(prefixOf(claim, "inc") + "0000000005")
		if !ok || node.Worker != worker || node.Incarnation != "inc" || node.Token != "tok" || node.Number != 5 {
			t.Errorf("worker ID %d comes back as %+v, %v", worker, node, ok)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("0000003-s-inc-tok-0000000017")
	f.Add("d-inc-tok--2147483648")
	f.Fuzz(func(t *testing.T, name string) {
		node, counted, ok := parseAny(name)
		if !ok {
			return
		}
		if !claims.ValidToken(node.Incarnation) || !claims.ValidToken(node.Token) || node.Number > lastNumber || strings.ContainsRune(name, '/') {
			t.Errorf("%q: %+v", name, node)
		}
		prefix := prefixOf(claims.Claimant{Worker: node.Worker, Token: node.Token}, node.Incarnation)
		suffix, ours := strings.CutPrefix(name, prefix)
		if !ours || counted && suffix != fmt.Sprintf("%010d", node.Number) {
			t.Errorf("%q is taken for %+v, which would be %q", name, node, prefix)
		}
	})
}

func TestPaths(t *testing.T) {
	for chroot, want := range map[string]string{
		"": "/flakeward", "/": "/flakeward", "a": "/a", "/a/b": "/a/b", "/a/b/": "/a/b", "x.y": "/x.y",
	} {
		if got, err := parseRoot(chroot); err != nil || got.root != want {
			t.Errorf("chroot %q is %q, %v; want %q", chroot, got.root, err, want)
		}
	}
	for _, bad := range []string{"a//b", "/a/../b", ".", "zookeeper", "/zookeeper/x", "a b", "é", "a\x00"} {
		if got, err := parseRoot(bad); err == nil {
			t.Errorf("chroot %q is taken for %q", bad, got.root)
		}
	}
	root := tree{root: "/a/b"}
	want := []string{"/a", "/a/b", "/a/b/claims", "/a/b/workers", "/a/b/hosts", "/a/b/history"}
	if got := root.folders(); !slices.Equal(got, want) {
		t.Errorf("folders %q, want %q", got, want)
	}
	for host, want := range map[string]string{
		"h1.example": "/a/b/hosts/h1.example", "a/b": "/a/b/hosts/a%2Fb", ".": "/a/b/hosts/%2E", "..": "/a/b/hosts/%2E%2E", "a%2Fb": "/a/b/hosts/a%252Fb",
	} {
		if got := root.host(host); got != want {
			t.Errorf("host %q is stored in %s, want %s", host, got, want)
		}
	}
	s := &store{tree: root}
	for what, want := range map[string]string{"layout": "/a/b/layout", "workers/7": "/a/b/workers/0000007", "history/12": "/a/b/history/0000012"} {
		if got := s.Path(what); got != want {
			t.Errorf("%s is in %s, want %s", what, got, want)
		}
	}
}

// A version of -1 makes ZooKeeper check nothing.
func TestVersionsAreAlwaysChecked(t *testing.T) {
	for _, v := range []int64{-1, 0, 1 << 31, 1 << 40} {
		if got, err := checked(v); err == nil {
			t.Errorf("version %d is sent as %d", v, got)
		}
	}
	for v, want := range map[int64]int32{1: 0, 2: 1, 1<<31 - 1: 1<<31 - 2} {
		if got, err := checked(v); err != nil || got != want {
			t.Errorf("version %d is sent as %d, %v; want %d", v, got, err, want)
		}
	}
	s := &store{tree: tree{root: "/a"}}
	good := claims.Entry{Version: 1}
	for _, w := range []claims.Write{
		{Record: claims.Entry{Version: -1}},
		{Record: good, History: claims.Entry{Value: []byte("[]"), Version: -1}},
	} {
		if ops, err := s.operations(fence{layout: good, token: "tok"}, w, true); err == nil {
			t.Errorf("%+v is sent as %+v", w, ops)
		}
	}
	if f, err := s.fences.make(t.Context(), claims.Entry{}); err == nil {
		t.Errorf("what is done without a layout is checked by %+v", f)
	}
}
