package cli

import (
	"slices"
	"strings"
	"testing"
)

// shown are the names of the flags that a help shows.
func shown(help string) (names []string) {
	for _, line := range strings.Split(help, "\n") {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(word, "--") {
			names = append(names, strings.TrimPrefix(word, "--"))
		}
	}
	slices.Sort(names)
	return names
}

// The help of the daemon shows the dozen settings that matter, and all of them with --all.
func TestHelpShowsTheSettingsThatMatter(t *testing.T) {
	most := slices.Clone(mainSettings)
	all := append([]string{configName}, settingNames()...)
	slices.Sort(most)
	slices.Sort(all)
	if len(mainSettings) > 12 {
		t.Errorf("%d settings matter, a dozen is wanted", len(mainSettings))
	}
	of := func(args ...string) []string {
		out, _, err := command(t, "", args...)
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return shown(out)
	}
	for _, name := range []string{daemonName, checkName} {
		for _, args := range [][]string{{name, "--help"}, {"help", name}, {name, "--ttl", "11s", "-h"}} {
			if got := of(args...); !slices.Equal(got, most) {
				t.Errorf("%v shows %v, want %v", args, got, most)
			}
		}
		for _, args := range [][]string{{name, "--help", "--all"}, {name, "--all", "--help"}, {"help", name, "--all"}, {"help", "--all", name}} {
			if got := of(args...); !slices.Equal(got, all) {
				t.Errorf("%v shows %v, want %v", args, got, all)
			}
		}
	}
	if _, _, err := command(t, "", daemonName, "--all"); ExitCode(err) != ExitUsage {
		t.Errorf("--all without --help: %v", err)
	}
}

// A default is shown as what it means.
func TestHelpShowsDefaultsAsTheyAre(t *testing.T) {
	out, _, err := command(t, "", daemonName, "--help", "--all")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"(default: 10m, or 2m for layouts", "(default: 1m0s)", "(default: never)", "(default: no limit)", "(default: \"" + ownPaths().coordinator()} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	commands := [][]string{{daemonName}, {"cluster", "raise"}, {"status"}, {"next"}, {"cluster", "widen"}}
	for _, words := range commands {
		out, _, err := command(t, "", append(words, "--help", "--all")...)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{"(default: 0s)", "(default: false)", "empty:"} {
			if at := strings.Index(out, wrong); at >= 0 {
				t.Errorf("%v: the help has %q: %.120s", words, wrong, out[max(0, at-100):])
			}
		}
	}
}
