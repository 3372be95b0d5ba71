package journal

// On returns a Dir on disks that are not this machine's, one for each lane that it can have: those
// of a simulation, which its caller has locked. Path is how errors call it.
func On(path string, first Disk, others ...Disk) *Dir {
	all := append([]Disk{first}, others...)
	d := &Dir{path: path, count: len(all)}
	d.made = func(lane int) Disk { return all[lane] }
	d.File, _ = d.Lane(0)
	return d
}
