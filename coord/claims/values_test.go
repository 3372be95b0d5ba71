package claims

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
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
		if r.Ceiling < 0 || r.Issued < 0 || r.Time < 0 || r.Holder == "" || r.Nonce == "" {
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
		if l.Layout == "" || l.UUID == "" || l.Identity == "" || l.Floor < 0 || l.Window < 0 || l.Workers < 0 || l.Workers > coord.MaxWorkers {
			t.Errorf("%q was taken as %+v", b, l)
		}
		if again, err := decodeLayout(encode(l)); err != nil || !reflect.DeepEqual(again, l) {
			t.Errorf("%+v encodes to %+v, %v", l, again, err)
		}
	})
}

func TestAClusterRecordThatIsNone(t *testing.T) {
	for stored, says := range map[string]string{
		`{"layout":"l","uuid":"u","workers":8}`:                                              "made by an earlier version",
		`{"layout":"l","uuid":"u","workers":8,"above":5}`:                                    "made by an earlier version",
		`{"layout":"l","identity":"i"}`:                                                      "uuid is missing",
		`{"layout":"l","uuid":"u","identity":"i","floor":-1}`:                                "floor is negative",
		`{"layout":"l","uuid":"u","identity":"i","window":-1}`:                               "window is negative",
		`{"layout":"l","uuid":"u","identity":"i","workers":-1}`:                              "worker IDs are not",
		`{"layout":"l","uuid":"u","identity":"i","workers":4,"range":{"first":2,"count":3}}`: "range of worker IDs",
	} {
		if l, err := decodeLayout([]byte(stored)); err == nil || l != (layout{}) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s was taken as %+v, %v; want that it says %q", stored, l, err, says)
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
