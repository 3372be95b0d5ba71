package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// Code names what is wrong with a directory. It does not change between versions.
type Code string

// The codes.
const (
	CodeAccess     Code = "dir-access"      // it cannot be made, read or written
	CodeMissing    Code = "dir-missing"     // what it would lie in is not there
	CodeFileSystem Code = "dir-file-system" // a lock or an fsync may not hold there
	CodeCopied     Code = "dir-copied"      // its cluster was made in another directory
	CodeReplaced   Code = "dir-replaced"    // another directory is at its path
	CodeDamaged    Code = "dir-damaged"     // a file is not as it was written
	CodeBusy       Code = "dir-busy"        // another process has the lock and does not end
	CodeFull       Code = "dir-full"        // there is no room on the disk
	CodeDisk       Code = "dir-disk"        // the disk has failed
)

// Error says what is wrong with a directory, and what to do.
type Error struct {
	Code Code
	Path string
	Why  string
	Do   string
	err  error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.Path, e.Why)
	if e.err != nil {
		text += fmt.Sprintf(" (%v)", e.err)
	}
	return fmt.Sprintf("%s: %s (%s)", text, e.Do, e.Code)
}

func (e *Error) Unwrap() error { return e.err }

// Is makes errors.Is find what else an error is: to try again is of no use, or of no use soon.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case CodeAccess:
		return target == coord.ErrAccess
	case CodeMissing, CodeFileSystem, CodeCopied, CodeDamaged, CodeFull:
		return target == claims.ErrRefused
	}
	return false
}

// full reports whether there is no room for what was written.
func full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// failed explains why a file at path could not be opened, read or written.
func failed(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return &Error{CodeAccess, path, fmt.Sprintf("user %d cannot read and write there", os.Geteuid()),
			"give the daemon's user the directory, or name another with --coord dir:PATH, in a container on a volume", err}
	case full(err):
		return &Error{CodeFull, path, "there is no room on the disk", "make room; IDs are issued up to what was granted", err}
	default:
		return &Error{CodeDisk, path, "the disk failed", "look for the reason in the kernel's log; IDs are issued up to what was granted", err}
	}
}
