package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	urfave "github.com/urfave/cli/v2"
)

// version is set by the linker (-X), when a build is to carry a name of its own.
var version string

// Version is the version of this build: the one the linker was given, else the
// module's, else the commit it was built from, else "devel".
func Version() string {
	build, _ := debug.ReadBuildInfo()
	return versionOf(version, build)
}

func versionOf(linked string, build *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if build == nil {
		return "devel"
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, modified := "", ""
	for _, setting := range build.Settings {
		switch {
		case setting.Key == "vcs.revision" && len(setting.Value) >= 12:
			commit = "-" + setting.Value[:12]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = "-modified"
		}
	}
	if commit == "" {
		return "devel"
	}
	return "devel" + commit + modified
}

func versionCommand() *urfave.Command {
	return &urfave.Command{
		Name:  "version",
		Usage: "print the version of this program",
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.App.Writer, "flakeward %s (%s, %s/%s)\n", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
