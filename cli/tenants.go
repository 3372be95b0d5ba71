package cli

import (
	"fmt"
	"strconv"

	"github.com/flakeward/flakeward/cli/configfile"
)

// tenantsName is the setting that only the file has: it is no single value.
const tenantsName = "tenants"

// fileSettings are the names that a configuration file may have.
func fileSettings() configfile.Settings {
	return configfile.Settings{Single: settingNames(), Mapping: []string{tenantsName}}
}

// readTenants reads the numbers of a file's tenants. Whether the layout has room for them is not looked at.
func readTenants(path string, value configfile.Value) (map[string]uint64, error) {
	all := make(map[string]uint64, len(value.Entries))
	for _, entry := range value.Entries {
		number, err := strconv.ParseUint(entry.Text, 10, 64)
		if err != nil {
			return nil, &usageError{&configfile.Error{Path: path, Line: entry.Line,
				Err: fmt.Errorf("tenant %q: %q is not a whole number of 0 or more", entry.Name, entry.Text)}}
		}
		all[entry.Name] = number
	}
	return all, nil
}
