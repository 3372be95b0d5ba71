package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// A daemon whose file names no identity, as a container's that was given none, is told how to have
// one.
func TestAMachineWithoutAnIdentityIsToldHowToHaveOne(t *testing.T) {
	given := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(given, []byte("machine 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{"/dev/null": "--machine-identity names no usable identity", given + "-not": "no such file", given: ""} {
		var log bytes.Buffer
		m := machine{identity: path, log: hclog.New(&hclog.LoggerOptions{Output: &log})}
		host := m.host()
		if (host.Machine == "") != (says != "") || !strings.Contains(log.String(), says) || says == "" && log.Len() > 0 {
			t.Errorf("%s: %+v, and the log says %q, want %q", path, host, &log, says)
		}
	}
}
