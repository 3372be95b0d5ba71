//go:build drill

package fault

import "os"

// Synced appends to the file that the variable Records names a line with what a directory has
// synced. The caller has the directory's lock, so the lines of all processes are in the order of
// the writes. A process that is killed before it has no line: nothing was acknowledged then.
func Synced(name string, value []byte) {
	path := os.Getenv(Records)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err) // what is judged would be wrong
	}
	defer f.Close() // what was written is there
	if _, err := f.Write(append(append([]byte(name+" "), value...), '\n')); err != nil {
		panic(err)
	}
}
