package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// languages are those of the clients, and what runs a program in each.
var languages = map[string]func(t *testing.T) (command []string, driver string){
	"java": func(t *testing.T) ([]string, string) {
		return []string{interpreter(t, "java"), "-cp", compileJava(t, "", file(t, "testdata", "Driver.java"))}, "Driver"
	},
	"python": func(t *testing.T) ([]string, string) {
		t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		t.Setenv("PYTHONPATH", filepath.Dir(file(t, "..", "..", "clients", "python", "flakeward.py")))
		return []string{interpreter(t, "python3")}, file(t, "testdata", "driver.py")
	},
	"node": func(t *testing.T) ([]string, string) {
		file(t, "..", "..", "clients", "node", "flakeward.js")
		return []string{interpreter(t, "node")}, file(t, "testdata", "driver.js")
	},
}

// each runs a test of the driver of each language.
func each(t *testing.T, test func(*testing.T, driver)) {
	for language, of := range languages {
		t.Run(language, func(t *testing.T) {
			command, program := of(t)
			test(t, driver{language, append(command, program)})
		})
	}
}

func TestThroughKillsAndUpdates(t *testing.T) { each(t, throughKillsAndUpdates) }

func TestFigures(t *testing.T) { each(t, measure) }

// The tests that clients have in their own language hold them to what their comments say. TestJava
// is that of Java.
func TestInTheirLanguage(t *testing.T) {
	for language, program := range map[string]string{"python": "python_test.py", "node": "node_test.js"} {
		t.Run(language, func(t *testing.T) {
			command, _ := languages[language](t)
			tests(t, append(command, file(t, "testdata", program)))
		})
	}
}

// The examples of docs/clients.md take IDs, and say why there are none. So does that of Node in a
// package of ES modules, beside the copy that the page describes.
func TestExamples(t *testing.T) {
	for language, of := range map[string]struct{ block, file, says string }{
		"python": {"python", "example.py", "1004 IDs\n"},
		"node":   {"js", "example.js", "bigint 1001 IDs\n"},
	} {
		t.Run(language, func(t *testing.T) {
			command, _ := languages[language](t)
			h, dir := host(t), t.TempDir()
			command = append(command, example(t, of.block, dir, of.file))
			client := must.Get(os.ReadFile(file(t, "..", "..", "clients", "node", "flakeward.js")))(t)
			must.Do(t, os.WriteFile(filepath.Join(dir, "flakeward.js"), client, 0o600))
			if said := says(t, h.Socket, command...); !strings.HasPrefix(said, "UNREACHABLE no daemon is reached at the socket "+h.Socket) {
				t.Errorf("without a daemon it says %q", said)
			}
			start(t, h)
			if said := says(t, h.Socket, command...); said != of.says {
				t.Errorf("it says %q", said)
			}
			if language != "node" {
				return
			}
			text := string(must.Get(os.ReadFile(command[1]))(t))
			text = "import { Client, FlakewardError, DEFAULT_SOCKET } from './flakeward.cjs'\n" + text[strings.Index(text, "\n"):]
			must.Do(t,
				os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600),
				os.Rename(filepath.Join(dir, "flakeward.js"), filepath.Join(dir, "flakeward.cjs")),
				os.WriteFile(command[1], []byte(text), 0o600))
			if said := says(t, h.Socket, command...); said != of.says {
				t.Errorf("as an ES module it says %q", said)
			}
		})
	}
}
