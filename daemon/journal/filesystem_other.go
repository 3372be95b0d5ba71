//go:build !linux

package journal

import "os"

// fileSystemOf tells no type: the numbers are Linux's. Elsewhere nothing is
// refused, and to keep the directory on a local disk is up to the operator.
func fileSystemOf(*os.File) (fileSystemType, error) { return untold, nil }
