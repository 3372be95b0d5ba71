package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon"
)

func TestReport(t *testing.T) {
	failed := errors.New("the disk is gone")
	for _, c := range []struct {
		name string
		args string
		env  string // of FLAKEWARD_LOG_JSON
		want string // in the error
		json bool
		code int
	}{
		{"plain", "daemon", "", failed.Error(), false, ExitFailed},
		{"in JSON", "daemon --log-json", "", failed.Error(), true, ExitFailed},
		{"by the variable", "daemon", "true", failed.Error(), true, ExitFailed},
		{"also when nothing is logged", "daemon --log-json --log-level off", "", failed.Error(), true, ExitFailed},
		{"a wrong value", "daemon --ttl 1ms --log-json", "", "--ttl", true, ExitUsage},
		{"a wrong flag before it", "daemon --nosuch --log-json", "", "nosuch", true, ExitUsage},
		{"a wrong flag after it", "daemon --log-json --nosuch", "", "nosuch", true, ExitUsage},
		{"another command", "next 0", "true", `"0"`, false, ExitUsage},
		{"switched off", "daemon --log-json=false", "true", failed.Error(), false, ExitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("FLAKEWARD_LOG_JSON", c.env)
			var out strings.Builder
			err := Run(t.Context(), append([]string{"flakeward"}, strings.Fields(c.args)...), strings.NewReader(""), &out, &out,
				func(context.Context, daemon.Config) error { return failed })
			Report(&out, err)
			if code := ExitCode(err); code != c.code {
				t.Errorf("the status is %d, want %d", code, c.code)
			}
			line := out.String()
			if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
				t.Errorf("printed %q, want one line", line)
			}
			var object map[string]string
			switch isJSON := json.Unmarshal([]byte(line), &object) == nil; {
			case isJSON != c.json:
				t.Errorf("printed %q, in JSON: %v, want %v", line, isJSON, c.json)
			case isJSON && !(object["@level"] == "error" && strings.Contains(object["error"], c.want)):
				t.Errorf("printed %q, want %q as the error", line, c.want)
			case !isJSON && !(strings.HasPrefix(line, "flakeward: ") && strings.Contains(line, c.want)):
				t.Errorf("printed %q, want %q in it", line, c.want)
			}
		})
	}
	var out strings.Builder
	if Report(&out, nil); out.Len() > 0 {
		t.Errorf("without an error, printed %q", out.String())
	}
}
