package zk

import (
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"testing"
)

// answer is what a server says to the request for a session.
func answer(timeout int32, id uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, headSize-4+4+16)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(timeout))
	b = binary.BigEndian.AppendUint64(b, id)
	b = binary.BigEndian.AppendUint32(b, 16)
	return append(b, make([]byte, 16)...)
}

// FuzzWatch: however the bytes of a server's first answer arrive, what is thought of them is the
// same, and no session without an end to its timeout comes through.
func FuzzWatch(f *testing.F) {
	whole := answer(10_000, 7)
	f.Add(whole, []byte{1})
	f.Add(append(slices.Clone(whole), 0, 0, 0, 4, 9, 9, 9, 9), []byte{19, 1, 200})
	f.Add(answer(0, 0), []byte{4, 16})
	f.Add(whole[:headSize+3], []byte{0})
	f.Add(whole, []byte{0})
	f.Add(answer(0, 7), []byte{20})
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), []byte{3})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		read := func(cuts []byte) (w *wire, used int, err error) {
			w = &wire{stop: func() bool { return true }, cancel: func() {}}
			for i := 0; used < len(in) && !w.opened && err == nil; i++ {
				n := len(in) - used
				if len(cuts) > 0 {
					n = min(n, 1+int(cuts[i%len(cuts)]))
				}
				err = w.watch(in[used : used+n])
				used += n
			}
			return w, used, err
		}
		whole, _, err := read(nil)
		pieces, used, inPieces := read(cuts)
		if err != inPieces || whole.opened != pieces.opened || whole.timeout != pieces.timeout {
			t.Fatalf("in one piece: opened %v, %v, %v; in pieces: opened %v, %v, %v", whole.opened, whole.timeout, err, pieces.opened, pieces.timeout, inPieces)
		}
		if len(whole.head) > headSize || !pieces.opened && err == nil && used > 4+answerSize {
			t.Fatalf("%d bytes were waited through, %d are kept", used, len(whole.head))
		}
		if !whole.opened {
			return
		}
		if size := 4 + int(binary.BigEndian.Uint32(in)); used < size {
			t.Fatalf("an answer of %d bytes was whole after %d", size, used)
		}
		size := binary.BigEndian.Uint32(in)
		if err != nil || size > answerSize || int(size)+4 > len(in) || binary.BigEndian.Uint64(in[12:]) != 0 && whole.timeout <= 0 {
			t.Fatalf("an answer of %d bytes with the timeout %v was taken: %v", size, whole.timeout, err)
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
