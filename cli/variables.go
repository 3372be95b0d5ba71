package cli

import (
	"slices"
	"strings"

	"github.com/flakeward/flakeward/internal/nearest"
)

const variablePrefix = "FLAKEWARD_"

// variable is the environment variable of a setting.
func variable(name string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// strangeVariables are the variables that look like settings and are none. One that is nearly a
// setting is an error, as it is in the configuration file. Others may well be there for another
// reason: Kubernetes makes some for a service of the name flakeward.
func strangeVariables(environ []string) (names []string, err error) {
	known := append(settingNames(), configName)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, variablePrefix) || slices.ContainsFunc(known, func(setting string) bool { return variable(setting) == name }) {
			continue
		}
		if near, ok := nearest.Name(strings.TrimPrefix(name, variablePrefix), known); ok {
			return nil, usagef("there is no variable %s: did you mean %s?", name, variable(near))
		}
		names = append(names, name)
	}
	return names, nil
}
