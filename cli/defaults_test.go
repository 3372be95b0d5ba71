package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// A daemon whose settings are the defaults, as packages and the compose file leave them, logs
// neither a warning nor an error: over its first start, a stop, and the start after that.
func TestADefaultDaemonWarnsOfNothing(t *testing.T) {
	lives := func(t *testing.T, settings ...string) {
		dir := sockettest.Dir(t)
		t.Setenv("FLAKEWARD_SOCKET", filepath.Join(dir, "flakeward", "s"))
		t.Setenv("FLAKEWARD_COORD", "dir:"+filepath.Join(dir, "coord"))
		for range 2 {
			log := &logtest.Buffer{}
			d := daemontest.Launch(t, daemon.Config{}, func(ctx context.Context, c daemon.Config) error {
				return Run(ctx, append([]string{"flakeward", "daemon"}, settings...), strings.NewReader(""), log, log,
					func(ctx context.Context, config daemon.Config) error {
						config.Ready = c.Ready
						return daemon.Run(ctx, config)
					})
			})
			d.UntilReady()
			if _, _, err := command(t, "", "next", "10"); err != nil {
				t.Error(err)
			}
			d.Stop()
			text := log.String()
			if strings.Contains(text, "[WARN]") || strings.Contains(text, "[ERROR]") || !strings.Contains(text, "stopped") {
				t.Errorf("the log is\n%s", text)
			}
		}
	}
	t.Run("alone", func(t *testing.T) { lives(t) })
	onRealCoordinators(t, func(t *testing.T, url string) {
		must.Get(clusters(t, "", "create", "--empty", "--coord", url))(t)
		lives(t, "--coord", url)
	})
}
