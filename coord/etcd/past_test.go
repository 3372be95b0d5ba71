package etcd

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestPast(t *testing.T) {
	type answer struct {
		before, revision int64
		cluster          uint64
		says             string // part of the finding; empty: none
	}
	for name, answers := range map[string][]answer{
		"goes on":                  {{0, 5, 1, ""}, {5, 5, 1, ""}, {5, 9, 1, ""}, {9, 10, 1, ""}},
		"answers overtake":         {{0, 5, 1, ""}, {5, 9, 1, ""}, {5, 7, 1, ""}, {9, 9, 1, ""}},
		"goes back":                {{0, 5, 1, ""}, {5, 4, 1, "from revision 5 to 4"}, {5, 9, 1, "from revision 5 to 4"}},
		"another cluster":          {{0, 5, 1, ""}, {5, 9, 2, "was 1 and is 2"}, {9, 9, 1, "was 1 and is 2"}},
		"a proxy hides the member": {{0, 5, 0, ""}, {5, 9, 1, ""}, {5, 9, 0, ""}, {9, 9, 1, ""}},
	} {
		var p past
		for i, a := range answers {
			got := p.note(a.before, &etcdserverpb.ResponseHeader{Revision: a.revision, ClusterId: a.cluster})
			if (got != nil) != (a.says != "") || got != nil && !strings.Contains(got.Error(), a.says) {
				t.Errorf("%s, answer %d: %v, want %q", name, i, got, a.says)
			}
			if got != p.restored() {
				t.Errorf("%s, answer %d: found %v, remembers %v", name, i, got, p.restored())
			}
		}
		if p.revision() > 10 {
			t.Errorf("%s: revision %d", name, p.revision())
		}
	}
	var p past
	p.note(0, &etcdserverpb.ResponseHeader{Revision: 7})
	p.note(0, &etcdserverpb.ResponseHeader{Revision: 3})
	if p.revision() != 7 {
		t.Errorf("revision %d, want the highest, 7", p.revision())
	}
}
