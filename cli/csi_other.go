//go:build !linux

package cli

import urfave "github.com/urfave/cli/v2"

// csiCommands are the commands that only Linux has.
func csiCommands(paths) []*urfave.Command { return nil }
