package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// A daemon whose file has no identity, as a container's that was given none, says how to have one. A
// file that somebody has chosen, and that tells no machine from another, is worth a warning.
func TestAMachineWithoutAnIdentityIsToldHowToHaveOne(t *testing.T) {
	given := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(given, []byte("machine 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	zeros, copied := filepath.Join(t.TempDir(), "zeros"), filepath.Join(t.TempDir(), "copied")
	for path, text := range map[string]string{zeros: "00000000-0000-0000-0000-000000000000\n", copied: "0123456789abcdef0123456789abcdef\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, says := range map[string]string{"/dev/null": "[INFO]  the machine has no identity that survives a reboot", zeros: "[INFO]", copied: "[WARN]  --machine-identity names no usable identity", given + "-not": "[WARN]", given: ""} {
		var log bytes.Buffer
		m := machine{identity: path, log: hclog.New(&hclog.LoggerOptions{Output: &log})}
		host := m.host()
		if (host.Machine == "") != (says != "") || !strings.Contains(log.String(), says) || says == "" && log.Len() > 0 {
			t.Errorf("%s: %+v, and the log says %q, want %q", path, host, &log, says)
		}
	}
}
