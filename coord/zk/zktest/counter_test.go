package zktest_test

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/zk/zktest"
)

// What a server does at the end of its counter is not in its manual: the counter stays
// where it is, so the last suffix is given again and again, to every name that is new.
func TestForcedCounter(t *testing.T) {
	e := zktest.Start(t, zktest.Options{})
	before := e.Client()
	for _, path := range []string{"/other", "/tree", "/tree/claims", "/tree/claims-too"} {
		put(t, before, path, "kept")
	}
	before.Close()
	e.ForceCounter("/tree/claims", 1<<31-2)
	c := e.Client()
	for _, step := range []struct {
		name, want string
		err        error
	}{
		{name: "a-", want: "a-2147483646"},
		{name: "a-", want: "a-2147483647"},
		{name: "a-", err: zk.ErrNodeExists},
		{name: "b-", want: "b-2147483647"},
		{name: "c-", want: "c-2147483647"},
	} {
		got, err := c.Create("/tree/claims/"+step.name, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		want := ""
		if step.want != "" {
			want = "/tree/claims/" + step.want
		}
		if got != want || !errors.Is(err, step.err) {
			t.Errorf("create %s: %q, %v; want %q, %v", step.name, got, err, want, step.err)
		}
	}
	for _, path := range []string{"/other", "/tree", "/tree/claims", "/tree/claims-too"} {
		expect(t, path, get(t, c, path), "kept")
	}
	for _, beside := range []string{"/tree", "/tree/claims-too"} {
		got, err := c.Create(beside+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		want := beside + "/n-0000000000"
		if beside == "/tree" { // it has had two children
			want = beside + "/n-0000000002"
		}
		if got != want || err != nil {
			t.Errorf("a counter beside: %q, %v; want %q", got, err, want)
		}
	}
}
