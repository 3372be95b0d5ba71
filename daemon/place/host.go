package place

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
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

// ErrUnset is an ErrNoIdentity of a file that is empty or has a UUID of zeros: whoever made it had no
// identity to put there, as firmware may have none.
var ErrUnset = fmt.Errorf("%w", ErrNoIdentity)

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
	if unset(text) {
		return h, fmt.Errorf("%w: %s is empty or has a UUID of zeros", ErrUnset, identity)
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
	defer f.Close() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxIdentity+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxIdentity {
		return "", fmt.Errorf("%s has more than %d bytes", path, maxIdentity)
	}
	return string(bytes.TrimSpace(b)), nil
}

// placeholders are UUIDs that makers of boards or firmware leave in machine after machine. osquery
// (osquery/core/system.cpp), FOG and SolidRun (lx2160a_uefi issue 4) name them.
var placeholders = []uuid.UUID{
	uuid.MustParse("03000200-0400-0500-0006-000700080009"),
	uuid.MustParse("03020100-0504-0706-0809-0a0b0c0d0e0f"),
	uuid.MustParse("10000000-0000-8000-0040-000000000000"),
	uuid.MustParse("12345678-1234-5678-90ab-cddeefaabbcc"),
	uuid.MustParse("8a95d198-7f46-11e5-bf8b-08002704d48e"),
}

// unset reports whether a text is empty or all zeros.
func unset(text string) bool { return strings.Trim(text, "0-") == "" }

// worthless returns why a text tells no machine from another; "" if it does. SMBIOS has a UUID of
// zeros for one that is missing and of ones for one that is not set, and some firmware repeats
// another byte.
func worthless(text string) string {
	letters := strings.ToLower(text)
	id, err := uuid.Parse(text)
	same := err == nil && bytes.Count(id[:], id[:1]) == len(id)
	switch {
	case same, strings.Trim(letters, "f-") == "":
		return fmt.Sprintf("has %q, which stands for none", text)
	case len(text) == hex.EncodedLen(len(id)) && err == nil && text == letters:
		// As machine-id(5) has it. A container may be handed its host's and have none itself.
		return "has the form of /etc/machine-id, which images and templates copy"
	case err == nil && (slices.Contains(placeholders, id) || slices.Contains(placeholders, turned(id))):
		return fmt.Sprintf("has %q, which many machines have", text)
	}
	return ""
}

// turned is a UUID with the bytes of its first three fields the other way round: so Linux shows it
// where the table is of before SMBIOS 2.6.
func turned(id uuid.UUID) uuid.UUID {
	for _, field := range [][]byte{id[0:4], id[4:6], id[6:8]} {
		slices.Reverse(field)
	}
	return id
}
