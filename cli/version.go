package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// release is the version of this source. CHANGELOG.md has an entry for it.
const release = "0.1.0"

// version is set by the linker (-X) for a build with a name of its own.
var version string

// Version is the version of this build. The linker's name goes first, then the module's version.
// A build in a checkout has the release and the commit, such as 0.1.0+0123456789ab.
func Version() string {
	build, _ := debug.ReadBuildInfo()
	return versionOf(version, build)
}

func versionOf(linked string, build *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if build == nil {
		return release
	}
	commit, modified := "", ""
	for _, setting := range build.Settings {
		switch {
		case setting.Key == "vcs.revision" && len(setting.Value) >= 12:
			commit = "+" + setting.Value[:12]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = ".modified"
		}
	}
	if commit != "" {
		return release + commit + modified
	}
	// Without a checkout, the module's version names the commit where there is no tag.
	if v := build.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	return release
}

func versionCommand() *urfave.Command {
	return &urfave.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.App.Writer, "flakeward %s (%s, %s/%s)\n", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
