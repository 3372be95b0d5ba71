package journal

// On returns a Dir on a disk that is not this machine's: that of a simulation, which its caller has
// locked. Path is how errors call it.
func On(path string, disk Disk) *Dir {
	return &Dir{path: path, File: &File{path: path, disk: disk}}
}
