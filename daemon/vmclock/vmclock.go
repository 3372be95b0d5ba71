// Package vmclock reads the generation of the virtual machine that this process runs in. A
// hypervisor that shows VMClock changes the generation each time that it starts the machine from a
// saved state: a snapshot that is restored, a clone. It does so before the machine runs, so a copy
// of a running process finds another generation than it began with.
//
// The format is struct vmclock_abi of Linux's include/uapi/linux/vmclock-abi.h, which has the
// generation since commit 3495064b6d65 (January 2026). Linux has the device since 6.13 and maps the
// page as the hypervisor shows it. The fields are little-endian:
//
//	offset  bytes  field
//	     0      4  magic, 0x4b4c4356 ("VCLK")
//	     4      4  size of the region in bytes, at least 112
//	     8      2  version, 1
//	    24      8  flags; bit 8, VMCLOCK_FLAG_VM_GEN_COUNTER_PRESENT: the generation is there
//	   104      8  vm_generation_counter
//
// (The text of UAPI.13, uapi-group.org, has the flag as bit 7 and the generation at offset 100.
// Hypervisors and guests go by the header.) The disruption marker at offset 16 is not used: it
// changes at a live migration too, which makes no copy.
package vmclock

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// DefaultPath is where Linux shows the device.
const DefaultPath = "/dev/vmclock0"

// ErrNone means that the machine shows no VMClock at the path, or that this system cannot read it:
// the path does not exist, or it is not 64-bit Linux on x86 or ARM.
var ErrNone = errors.New("no VMClock")

const (
	magic          = 0x4b4c4356
	version        = 1
	flagGeneration = 1 << 8

	atMagic      = 0
	atSize       = 4
	atVersion    = 8
	atFlags      = 24
	atGeneration = 104
	minSize      = 112
)

// parseHeader returns what is wrong with a page whose generation cannot be used, nil if it can. It
// reads the words one by one, without the page's sequence count: each is aligned, and none has to
// be of the same update as another.
func parseHeader(page []byte) error {
	if len(page) < minSize {
		return fmt.Errorf("it has %d bytes, VMClock's page has at least %d", len(page), minSize)
	}
	if m := binary.LittleEndian.Uint32(page[atMagic:]); m != magic {
		return fmt.Errorf("its magic is %#x, VMClock's is %#x", m, uint32(magic))
	}
	if n := binary.LittleEndian.Uint32(page[atSize:]); n < minSize {
		return fmt.Errorf("it says that it has %d bytes, VMClock's page has at least %d", n, minSize)
	}
	if v := binary.LittleEndian.Uint16(page[atVersion:]); v != version {
		return fmt.Errorf("it is of version %d, this program knows version %d", v, version)
	}
	if binary.LittleEndian.Uint64(page[atFlags:])&flagGeneration == 0 {
		return errors.New("the hypervisor gives the machine no generation")
	}
	return nil
}
