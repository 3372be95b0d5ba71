package zk

import (
	"bytes"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"testing"
)

// answer is what a server says to the request for a session.
func answer(timeout int32, id uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, leastAnswer+4+16)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(timeout))
	b = binary.BigEndian.AppendUint64(b, id)
	b = binary.BigEndian.AppendUint32(b, 16)
	return append(b, make([]byte, 16)...)
}

// FuzzSession: whatever a server answers first, it is passed on as it came or refused, and no
// session without an end to its timeout comes through.
func FuzzSession(f *testing.F) {
	whole := answer(10_000, 7)
	f.Add(whole)
	f.Add(append(slices.Clone(whole), 0, 0, 0, 4, 9, 9, 9, 9))
	f.Add(answer(0, 0))
	f.Add(whole[:leastAnswer+3])
	f.Add(answer(0, 7))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, timeout, err := readAnswer(bytes.NewReader(in))
		if err != nil {
			if got != nil || timeout != 0 {
				t.Fatalf("%v, and %q with the timeout %v", err, got, timeout)
			}
			return
		}
		if size := binary.BigEndian.Uint32(in); !bytes.HasPrefix(in, got) || len(got) != 4+int(size) || size > mostAnswer || binary.BigEndian.Uint64(in[12:]) != 0 && timeout <= 0 {
			t.Fatalf("an answer of %d bytes with the timeout %v was taken", size, timeout)
		}
	})
}

// FuzzTree: a chroot that is taken is one that ZooKeeper takes.
func FuzzTree(f *testing.F) {
	f.Add("/a/b/")
	f.Add("")
	f.Add("a//b")
	f.Add("/a/..")
	f.Add("zookeeper/x")
	f.Fuzz(func(t *testing.T, chroot string) {
		root, err := parseRoot(chroot)
		if err != nil {
			if !strings.Contains(err.Error(), "use one such as") {
				t.Errorf("%q: the error %q does not say what to do", chroot, err)
			}
			return
		}
		again, err := parseRoot(root.root)
		if err != nil || again != root || path.Clean(root.root) != root.root || !strings.HasPrefix(root.root, "/") {
			t.Errorf("%q is %q, and that is %q, %v", chroot, root.root, again.root, err)
		}
		for _, folder := range root.folders() {
			if folder == "" || path.Clean(folder) != folder || strings.HasPrefix(folder+"/", "/zookeeper/") {
				t.Errorf("%q has the folder %q", chroot, folder)
			}
		}
	})
}
