// Package place tells whether a file lies where it was written. A journal is believed only there:
// a copy of it, on another volume, host or clone of a virtual machine, would make a second daemon
// of the same claim.
//
// A place is a host and three files on it. The host is known by a hardware identity or, where
// either has none, by the kernel's boot ID, and by the generation of its virtual machine. A file
// is known by device, inode and file handle, which holds the inode's generation on most file
// systems. A copy has another inode; an inode that is used again has another generation.
package place

import "fmt"

// Place is where something was written.
type Place struct {
	Host
	Dir     File `json:"dir"`     // the state directory
	Lock    File `json:"lock"`    // the lock in it
	Journal File `json:"journal"` // the journal itself
}

// Host is what a host is known by. An empty string stands for what is not known.
type Host struct {
	// Boot is the kernel's boot ID, the same in all containers of a host until it boots again.
	Boot string `json:"boot"`
	// Machine is a digest of the hardware identity, which stays over boots.
	Machine string `json:"machine,omitempty"`
	// VM is the generation of the virtual machine, which changes when it is cloned or put back.
	VM string `json:"vm,omitempty"`
}

// File is what a file or a directory is known by.
type File struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// Handle is the type and the bytes of the file handle (name_to_handle_at(2)) in hexadecimal;
	// empty where the file system or the kernel gives none.
	Handle string `json:"handle,omitempty"`
}

// Elsewhere returns what shows that now is another place than p, in which something was written;
// "" if nothing does. A generation or a handle that was
// known at p and is not known now counts as another; a machine or a boot that is unknown leaves the
// other to decide.
func (p Place) Elsewhere(now Place) string {
	if why := p.Host.elsewhere(now.Host); why != "" {
		return why
	}
	for _, f := range []struct {
		name     string
		was, now File
	}{{"the state directory", p.Dir, now.Dir}, {"the lock", p.Lock, now.Lock}, {"the journal", p.Journal, now.Journal}} {
		if why := f.was.elsewhere(f.now); why != "" {
			return f.name + " is another: " + why
		}
	}
	return ""
}

func (h Host) elsewhere(now Host) string {
	sameBoot, sameMachine := h.Boot != "" && h.Boot == now.Boot, h.Machine != "" && h.Machine == now.Machine
	switch {
	case h.Machine != "" && now.Machine != "" && !sameMachine:
		// Also of the same boot: a machine that was resumed from a copy of its memory has that.
		return "it was written on another machine"
	case !sameBoot && !sameMachine:
		return "the host has booted since, and no hardware identity tells that it is the same; " +
			"--machine-identity FILE gives one"
	case h.VM != "" && h.VM != now.VM:
		return fmt.Sprintf("the virtual machine was cloned or put back: its generation was %q and is %q", h.VM, now.VM)
	}
	return ""
}

func (f File) elsewhere(now File) string {
	switch {
	case f.Device != now.Device:
		return fmt.Sprintf("its device was %d and is %d", f.Device, now.Device)
	case f.Inode != now.Inode:
		return fmt.Sprintf("its inode was %d and is %d", f.Inode, now.Inode)
	case f.Handle != "" && f.Handle != now.Handle:
		return fmt.Sprintf("its file handle was %s and is %q", f.Handle, now.Handle)
	}
	return ""
}
