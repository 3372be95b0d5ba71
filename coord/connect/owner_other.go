//go:build !unix

package connect

import "io/fs"

// ownerOf is not known.
func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }
