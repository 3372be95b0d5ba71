package journal

import "io"

// Disk is where one lane's journal lies in a state directory that is not this machine's: a simulated one, which its caller has
// locked. The steps are those in which a journal is replaced, in their order; each may fail, and what an unfinished one leaves
// is the disk's affair.
type Disk interface {
	Read() ([]byte, error)       // the journal; fs.ErrNotExist if there is none
	OpenTemp() (TempFile, error) // an empty file beside it
	Rename() error               // puts the temporary file in the journal's place
	RemoveTemp() error           // drops the temporary file; no error if there is none
	SyncDir() error              // makes a rename survive a power cut
	Ours() error                 // ErrMoved if the directory is another one by now
}

// TempFile is what a journal is written to before it takes the other's place.
type TempFile interface {
	io.WriteCloser
	Sync() error
}

// On returns a Dir on disks that are not this machine's, one for each lane that it can have. Path is how errors call it.
func On(path string, first Disk, others ...Disk) *Dir {
	all := append([]Disk{first}, others...)
	d := &Dir{path: path, ours: first.Ours, count: len(all)}
	d.made = func(lane int) (disk, error) { return otherDisk{all[lane]}, nil }
	d.File, _ = d.Lane(0)
	return d
}

type otherDisk struct{ d Disk }

func (o otherDisk) read() ([]byte, error)       { return o.d.Read() }
func (o otherDisk) openTemp() (tempFile, error) { return o.d.OpenTemp() }
func (o otherDisk) rename() error               { return o.d.Rename() }
func (o otherDisk) removeTemp() error           { return o.d.RemoveTemp() }
func (o otherDisk) syncDir() error              { return o.d.SyncDir() }
