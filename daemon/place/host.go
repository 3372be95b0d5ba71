package place

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Where Linux has the boot ID (proc_sys_kernel(5)) and the system's UUID of the DMI table (SMBIOS,
// DSP0134, 7.2.1), which root alone may read.
const (
	bootIDFile      = "/proc/sys/kernel/random/boot_id"
	productUUIDFile = "/sys/class/dmi/id/product_uuid"
)

// maxIdentity bounds a file with an identity, in bytes.
const maxIdentity = 4096

// ErrNoIdentity means that the machine has no hardware identity that can be read.
var ErrNoIdentity = errors.New("no hardware identity")

// ThisHost returns what this host is known by. The identity is what the named file holds, without
// white space around it, or the DMI table's system UUID if the name is empty. The error is
// ErrNoIdentity, wrapped with the reason, if there is none; the rest of the host is right then.
func ThisHost(identity string) (Host, error) { return hostOf(bootIDFile, identity) }

func hostOf(boot, identity string) (Host, error) {
	var h Host
	if b, err := readSmall(boot); err == nil {
		h.Boot = b
	}
	if identity == "" {
		identity = productUUIDFile
	}
	text, err := readSmall(identity)
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrNoIdentity, err)
	}
	if why := worthless(text); why != "" {
		return h, fmt.Errorf("%w: %s %s", ErrNoIdentity, identity, why)
	}
	// A digest, as some identities are secrets of their hosts and a journal is copied about.
	sum := sha256.Sum256([]byte("flakeward machine identity\n" + text))
	h.Machine = hex.EncodeToString(sum[:16])
	return h, nil
}

// readSmall returns what a small file holds, without white space around it.
func readSmall(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxIdentity+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxIdentity {
		return "", fmt.Errorf("%s has more than %d bytes", path, maxIdentity)
	}
	return string(bytes.TrimSpace(b)), nil
}

// placeholder is a UUID that many boards of one maker's have because nobody set theirs.
const placeholder = "03000200-0400-0500-0006-000700080009"

// worthless returns why a text tells no machine from another; "" if it does. SMBIOS has a UUID of
// zeros for one that is missing and of ones for one that is not set.
func worthless(text string) string {
	letters := strings.ToLower(text)
	switch {
	case text == "":
		return "is empty"
	case strings.Trim(letters, "0-") == "", strings.Trim(letters, "f-") == "":
		return fmt.Sprintf("has %q, which stands for none", text)
	case letters == placeholder:
		return fmt.Sprintf("has %q, which many machines have", text)
	}
	return ""
}
