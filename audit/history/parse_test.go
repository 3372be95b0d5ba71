package history

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"os"
	"slices"
	"strings"
	"testing"
)

// builder writes ZooKeeper's serialization.
type builder []byte

func (b builder) int32(n int32) builder { return binary.BigEndian.AppendUint32(b, uint32(n)) }
func (b builder) int64(n int64) builder { return binary.BigEndian.AppendUint64(b, uint64(n)) }
func (b builder) text(s string) builder { return append(b.int32(int32(len(s))), s...) }
func (b builder) acl() builder          { return b.int32(1).int32(31).text("world").text("anyone") }

func head(zxid int64, kind int32) builder {
	return builder{}.int64(7).int32(1).int64(zxid).int64(1700000000000).int32(kind)
}

func create(path, value string) builder {
	return append(builder{}.text(path).text(value).acl(), 0).int32(1)
}

func setTo(path, value string, version int32) builder {
	return builder{}.text(path).text(value).int32(version)
}

type part struct {
	kind   int32
	record builder
}

func multi(zxid int64, parts ...part) builder {
	b := head(zxid, typeMulti).int32(int32(len(parts)))
	for _, p := range parts {
		b = b.int32(p.kind).text(string(p.record))
	}
	return b
}

func frame(payload []byte) builder {
	b := builder{}.int64(int64(adler32.Checksum(payload))).int32(int32(len(payload)))
	return append(append(b, payload...), frameEnd)
}

func logOf(payloads ...builder) []byte {
	b := append(builder(logMagic), builder{}.int32(logVersion).int64(0)...)
	for _, p := range payloads {
		b = append(b, frame(p)...)
	}
	return b
}

func under(path string) bool { return strings.HasPrefix(path, "/f/workers/") }

const one = "/f/workers/0000001"

func TestParseLog(t *testing.T) {
	digest := builder{}.int32(2).int64(99)
	after := append(slices.Clone(create(one, "a")), digest...)
	for name, c := range map[string]struct {
		payload builder
		want    []change
		err     string
	}{
		"create":                {payload: append(head(1, typeCreate), create(one, "a")...), want: []change{{kind: created, path: one, data: []byte("a")}}},
		"create, with a digest": {payload: append(head(1, typeCreate), after...), want: []change{{kind: created, path: one, data: []byte("a")}}},
		"create2":               {payload: append(head(1, typeCreate2), create(one, "a")...), want: []change{{kind: created, path: one, data: []byte("a")}}},
		"ephemeral":             {payload: append(head(1, typeCreate), append(builder{}.text(one).text("a").acl(), 1).int32(1)...), err: "ends with its session"},
		"another's":             {payload: append(head(1, typeCreate), create("/f/layout", "a")...)},
		"setData":               {payload: append(head(1, typeSetData), setTo(one, "b", 4)...), want: []change{{kind: set, path: one, data: []byte("b"), version: 4}}},
		"delete":                {payload: append(head(1, typeDelete), builder{}.text(one)...), want: []change{{kind: deleted, path: one}}},
		"setACL":                {payload: append(head(1, typeSetACL), builder{}.text(one).acl().int32(1)...)},
		"createSession":         {payload: head(1, typeCreateSession).int32(4000)},
		"closeSession, old":     {payload: head(1, typeCloseSession)},
		"closeSession":          {payload: append(head(1, typeCloseSession).int32(1).text("/f/claims/x"), digest...)},
		"closeSession, none":    {payload: append(head(1, typeCloseSession), digest...)},
		"error":                 {payload: head(1, typeError).int32(-101)},
		"multi": {payload: append(multi(1, part{typeCheck, builder{}.text("/f/layout").int32(3)}, part{typeSetData, setTo(one, "c", 5)}, part{typeDelete, builder{}.text(one)}), digest...),
			want: []change{{kind: set, path: one, data: []byte("c"), version: 5}, {kind: deleted, path: one}}},
		"multi that failed":     {payload: multi(1, part{typeSetData, setTo(one, "c", 5)}, part{typeError, builder{}.int32(-103)})},
		"multi, of old records": {payload: multi(1, part{typeError, setTo(one, "c", 5)}, part{typeError, builder{}.int32(-103)})},
		"multi, too long":       {payload: multi(1, part{typeSetData, append(setTo(one, "c", 5), 1)}), err: "1 bytes follow"},
		"multi of multis":       {payload: multi(1, part{typeMulti, builder{}.int32(0)}), err: "not known"},
		"unknown":               {payload: head(1, 99), err: "not known"},
		"createTTL":             {payload: append(head(1, 21), builder{}.text(one).text("a").acl().int32(1).int64(5)...), err: "not known"},
		"cut off":               {payload: append(head(1, typeSetData), setTo(one, "b", 4)[:20]...), err: "cut off"},
		"too long":              {payload: append(append(head(1, typeSetData), setTo(one, "b", 4)...), 0), err: "1 bytes follow"},
		"no zxid":               {payload: head(0, typeError).int32(-101), err: "no zxid"},
	} {
		t.Run(name, func(t *testing.T) {
			txns, err := parseLog(logOf(c.payload), under)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%+v, %v; want an error with %q", txns, err, c.err)
				}
				return
			}
			if err != nil || len(txns) != 1 || txns[0].zxid != 1 {
				t.Fatalf("%+v, %v", txns, err)
			}
			same := func(a, b change) bool {
				return a.kind == b.kind && a.path == b.path && a.version == b.version && bytes.Equal(a.data, b.data)
			}
			if !slices.EqualFunc(txns[0].changes, c.want, same) {
				t.Errorf("%+v, want %+v", txns[0].changes, c.want)
			}
		})
	}
}

// The digest, and what is left of a part that failed, differ between members.
func TestSums(t *testing.T) {
	sum := func(payload builder) [32]byte {
		t.Helper()
		txns, err := parseLog(logOf(payload), under)
		if err != nil {
			t.Fatal(err)
		}
		return txns[0].sum
	}
	plain := append(head(1, typeCreate), create(one, "a")...)
	if sum(plain) != sum(append(slices.Clone(plain), builder{}.int32(2).int64(99)...)) {
		t.Error("the digest counts")
	}
	if sum(plain) == sum(append(head(1, typeCreate), create(one, "b")...)) {
		t.Error("the value does not count")
	}
	failed := part{typeError, builder{}.int32(-103)}
	if sum(multi(1, part{typeError, setTo(one, "c", 5)}, failed)) != sum(multi(1, part{typeSetData, setTo(one, "c", 5)}, failed)) {
		t.Error("what was not done counts")
	}
}

func three() []byte {
	return logOf(append(head(1, typeCreate), create(one, "a")...), append(head(2, typeSetData), setTo(one, "b", 1)...),
		append(head(3, typeDelete), builder{}.text(one)...))
}

// A log that ends anywhere, with or without zeros behind, has what is whole in it.
func TestTornLog(t *testing.T) {
	whole := three()
	ends := []int{}
	for n, at := 0, logHeader; n < 3; n++ {
		at += frameHead + int(binary.BigEndian.Uint32(whole[at+8:])) + 1
		ends = append(ends, at)
	}
	for cut := range len(whole) + 1 {
		want := 0
		for _, end := range ends {
			if cut >= end {
				want++
			}
		}
		for _, zeros := range []int{0, 1, 100, 10000} {
			torn := append(slices.Clone(whole[:cut]), make([]byte, zeros)...)
			txns, err := parseLog(torn, under)
			if cut > 0 && cut < 8 { // the header itself, which is written at once
				continue
			}
			if err != nil || len(txns) != want {
				t.Fatalf("cut at %d, %d zeros: %d transactions, %v; want %d", cut, zeros, len(txns), err, want)
			}
		}
	}
}

func TestBadRecords(t *testing.T) {
	good := `{"ceiling":3,"issued":1,"holder":"h","claim":"c","nonce":"n","era":"e"}`
	if v, err := version(9, 4, []byte(good)); err != nil || v != (Version{Order: 9, Worker: 4, Ceiling: 3, Issued: 1, Holder: "h", Claim: "c"}) {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, bad := range []string{
		"", "{}", "null", good + "{}", good[:20], strings.Replace(good, `"ceiling":3,`, "", 1), strings.Replace(good, `"issued":1,`, "", 1),
		strings.Replace(good, `"h"`, `""`, 1), strings.Replace(good, "3", "-3", 1), strings.Replace(good, "3", "3.5", 1),
	} {
		if v, err := version(9, 4, []byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, v)
		}
	}
}

// A server's directory is read as it is: what is amiss in it is an error with the file's name.
func TestBadDirectories(t *testing.T) {
	create1, set2 := append(head(1, typeCreate), create(one, record)...), append(head(2, typeSetData), setTo(one, record, 1)...)
	for name, c := range map[string]struct {
		files map[string][]byte
		want  int
		err   string
	}{
		"as it should be":      {files: map[string][]byte{"log.1": logOf(create1), "log.2": logOf(set2), "snapshot.0": nil, "acceptedEpoch": nil}, want: 2},
		"logged again":         {files: map[string][]byte{"log.1": logOf(create1, set2), "log.2": logOf(set2), "snapshot.0": nil}, want: 2},
		"logged another again": {files: map[string][]byte{"log.1": logOf(create1, append(head(2, typeError), builder{}.int32(-1)...)), "log.2": logOf(set2), "snapshot.0": nil}, err: "two transactions"},
		"an empty last log":    {files: map[string][]byte{"log.1": logOf(create1), "log.2": nil, "snapshot.0": nil}, want: 1},
		"misnamed":             {files: map[string][]byte{"log.2": logOf(create1), "snapshot.0": nil}, err: "named by"},
		"out of order":         {files: map[string][]byte{"log.1": logOf(create1, append(head(3, typeError), builder{}.int32(-1)...)), "log.2": logOf(set2), "snapshot.0": nil}, err: "comes after"},
		"no first log":         {files: map[string][]byte{"log.2": logOf(set2), "snapshot.0": nil}, err: "not complete"},
		"no first snapshot":    {files: map[string][]byte{"log.1": logOf(create1), "snapshot.1": nil}, err: "not complete"},
		"a version is missing": {files: map[string][]byte{"log.1": logOf(create1, append(head(2, typeSetData), setTo(one, record, 2)...)), "snapshot.0": nil}, err: "missing"},
		"made twice":           {files: map[string][]byte{"log.1": logOf(create1, append(head(2, typeCreate), create(one, record)...)), "snapshot.0": nil}, err: "missing"},
		"never made":           {files: map[string][]byte{"log.1": logOf(append(head(1, typeSetData), setTo(one, record, 1)...)), "snapshot.0": nil}, err: "missing"},
		"a damaged record":     {files: map[string][]byte{"log.1": logOf(append(head(1, typeCreate), create(one, "{")...)), "snapshot.0": nil}, err: one},
		"a strange node":       {files: map[string][]byte{"log.1": logOf(append(head(1, typeCreate), create("/f/workers/x", "{")...)), "snapshot.0": nil}, err: "no worker ID"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(dir+"/version-2", 0o700); err != nil {
				t.Fatal(err)
			}
			for file, content := range c.files {
				if err := os.WriteFile(dir+"/version-2/"+file, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := ZooKeeper([]string{dir}, "/f")
			if c.err == "" && (err != nil || len(got) != c.want) {
				t.Errorf("%+v, %v; want %d", got, err, c.want)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%+v, %v; want an error with %q", got, err, c.err)
			}
		})
	}
}

const record = `{"ceiling":3,"issued":1,"holder":"h","claim":"c","nonce":"n"}`
