package dir

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// FuzzFile: what is read is what was written, byte for byte, and a damaged file has a value that is
// none of the bytes that were meant.
func FuzzFile(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(encode(1, nil))
	f.Add(encode(maxCount, []byte(`{"ceiling":5}`)))
	f.Add(append(encode(7, []byte("a value")), "the rest of a spare"...))
	f.Add([]byte(format + " 0 00000000 0\n"))
	f.Add([]byte(format + " 01 00000000 0\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		e, err := decode(file)
		if err != nil {
			if !errors.Is(err, errDamaged) || e.Version <= version(maxCount, 0) || !strings.HasPrefix(string(e.Value), errDamaged.Error()) {
				t.Fatalf("%q: %+v, %v", file, e, err)
			}
			return
		}
		if again := encode(count(e.Version), e.Value); !bytes.HasPrefix(file, again) {
			t.Fatalf("%q is read as %q", file, again)
		}
	})
}

func FuzzCluster(f *testing.F) {
	f.Add(encode(1, encodeCluster(17, []byte(`{"layout":"x"}`))))
	f.Add(encode(1, []byte("inode 017\n")))
	f.Add(encode(1, []byte("inode 17")))
	f.Add([]byte("inode 17\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		e, inode, err := decodeCluster(file)
		if err != nil {
			if e.Version != 0 || e.Value != nil {
				t.Fatalf("%q: %+v, %v", file, e, err)
			}
			return
		}
		if again := encode(count(e.Version), encodeCluster(inode, e.Value)); !bytes.HasPrefix(file, again) {
			t.Fatalf("%q is read as %q", file, again)
		}
	})
}

func FuzzHolders(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 4711 fd:00:2097154 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 12 fd:00:2097154 0 EOF\n2: POSIX  ADVISORY  WRITE 9 fd:00:2097154 0 EOF\n3: FLOCK  ADVISORY  READ 8 fd:00:2097154 0 EOF\n4: FLOCK  ADVISORY  WRITE 7 fd:00:97154 0 EOF\n")
	f.Fuzz(func(t *testing.T, locks string) {
		for _, pid := range holders(locks, 2097154) {
			if !strings.Contains(locks, pid) || pid == "0" {
				t.Fatalf("%q: process %q", locks, pid)
			}
		}
	})
}

// Only who has the lock is named, not who waits, nor who has another lock.
func TestOnlyTheHolderIsNamed(t *testing.T) {
	const locks = "1: FLOCK  ADVISORY  WRITE 4711 fd:00:2097154 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 12 fd:00:2097154 0 EOF\n2: POSIX  ADVISORY  WRITE 9 fd:00:2097154 0 EOF\n3: FLOCK  ADVISORY  READ 8 fd:00:2097154 0 EOF\n4: FLOCK  ADVISORY  WRITE 7 fd:00:97154 0 EOF\n"
	if got := strings.Join(holders(locks, 2097154), " "); got != "4711" {
		t.Errorf("process %s", got)
	}
}
