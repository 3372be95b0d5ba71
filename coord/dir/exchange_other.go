//go:build !linux && !darwin

package dir

import (
	"errors"
	"os"
)

// exchange swaps two files of a directory in one step.
func exchange(*os.File, string, string) error { return errors.ErrUnsupported }
