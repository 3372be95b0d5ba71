package journal

import "io"

// Disk is a state directory that is not this machine's: a simulated one, which its caller has locked. The steps are those in which
// a journal is replaced, in their order; each may fail, and what an unfinished one leaves is the disk's affair.
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

// On returns a Dir on a disk that is not this machine's. Path is how errors call it.
func On(path string, d Disk) *Dir {
	return &Dir{path: path, disk: otherDisk{d}, away: d.Ours}
}

type otherDisk struct{ d Disk }

func (o otherDisk) read() ([]byte, error)       { return o.d.Read() }
func (o otherDisk) openTemp() (tempFile, error) { return o.d.OpenTemp() }
func (o otherDisk) rename() error               { return o.d.Rename() }
func (o otherDisk) removeTemp() error           { return o.d.RemoveTemp() }
func (o otherDisk) syncDir() error              { return o.d.SyncDir() }
