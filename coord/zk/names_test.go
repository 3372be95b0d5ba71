package zk

import (
	"slices"
	"testing"

	"github.com/flakeward/flakeward/coord/claims"
)

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
		if ops, err := s.operations(w, true); err == nil {
			t.Errorf("%+v is sent as %+v", w, ops)
		}
	}
	if f, err := s.guard(claims.Entry{}); err == nil {
		t.Errorf("what is done without a layout is checked by %+v", f)
	}
}
