package publicid

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// maxFile bounds a file of keys, in bytes. Whatever is longer is another file.
const maxFile = 64 << 10

// notAllowed are rights that nobody may have on a file of keys: others none, its group to write.
// The group may read it: Kubernetes mounts secrets so for users other than root.
const notAllowed = 0o027

// ReadFile reads a file of keys, as ParseKeys takes it. It refuses a file that others may read.
func ReadFile(path string) (*Keys, error) {
	text, err := read(path)
	var keys *Keys
	if err == nil {
		keys, err = ParseKeys(text)
	}
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err // the file is named below
	}
	if err != nil {
		return nil, fmt.Errorf("the file of keys for public IDs, %s, cannot be used: %w", path, err)
	}
	return keys, nil
}

func read(path string) (string, error) {
	// Without O_NONBLOCK a pipe that nobody writes to any more would be waited for without end.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	// Of a pipe, the mode says nothing, and Windows has none.
	if mode := info.Mode(); mode.IsRegular() && mode.Perm()&notAllowed != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("its mode is %#o, so others may read or change it: take their rights away (chmod 0600)", mode.Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(text) > maxFile {
		return "", fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	return string(text), err
}

// Follow returns an error if the ID of a key is that of another key in before: public IDs that were
// written under that one would be read as other IDs, without an error.
func (k *Keys) Follow(before *Keys) error {
	for id, now := range k.byID {
		if then := before.byID[id]; then != nil && then.first != now.first {
			return fmt.Errorf("the ID %s is that of another key than before, so public IDs that were written under that one would be misread: "+
				"give the new key an ID of its own; if no public ID was, start the daemon anew", id[:])
		}
	}
	return nil
}

const howTo = "write a line such as the output of: echo k1 $(openssl rand -hex 16)"

// ParseKeys reads keys: one in a line, its ID of two characters of 0-9 and a-z, a blank, and 32 or
// 64 hexadecimal digits (AES-128 or AES-256). The first key is the current one. Empty lines and
// those that begin with # do not count. An error names the line and shows nothing of it.
func ParseKeys(text string) (*Keys, error) {
	keys := &Keys{byID: map[keyID]*key{}}
	seen := map[string]string{} // the ID of each key
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := keys.add(line, seen); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if keys.current == nil {
		return nil, errors.New("it has no key: " + howTo)
	}
	return keys, nil
}

// add adds the key of one line.
func (k *Keys) add(line string, seen map[string]string) error {
	words := strings.Fields(line)
	if len(words) != 2 {
		return fmt.Errorf("%d words, not a key's ID and a key: %s", len(words), howTo)
	}
	id, digits := words[0], words[1]
	if len(id) != keyIDWidth || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return errors.New("the first word is no key's ID, which is two characters of 0-9 and a-z: " + howTo)
	}
	if len(digits) != 32 && len(digits) != 64 {
		return fmt.Errorf("the key %s has %d characters, not 32 or 64: make one with: openssl rand -hex 16", id, len(digits))
	}
	secret, err := hex.DecodeString(digits)
	if err != nil { // whose text shows a character
		return fmt.Errorf("the key %s has characters other than 0-9 and a-f: make one with: openssl rand -hex 16", id)
	}
	if k.byID[keyID([]byte(id))] != nil {
		return fmt.Errorf("the ID %s is there twice: give each key an ID of its own", id)
	}
	if other := seen[string(secret)]; other != "" {
		return fmt.Errorf("the keys %s and %s are the same: make a new one with: openssl rand -hex 16", other, id)
	}
	p, err := newPermutation(secret, idBits)
	if err != nil {
		return err
	}
	seen[string(secret)] = id
	added := &key{keyID([]byte(id)), p}
	if k.current == nil {
		k.current = added
	}
	k.byID[added.id] = added
	k.ids = append(k.ids, id)
	return nil
}
