package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/cli/configfile"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/internal/info"
)

// tenantsName is the setting that only the file has: it is no single value.
const tenantsName = "tenants"

// fileSettings are the names that a configuration file may have.
func fileSettings() configfile.Settings {
	return configfile.Settings{Single: settingNames(), Mapping: []string{tenantsName}}
}

// tenantFields are what a tenant may have in the file.
var tenantFields = []string{"id", "rate", "form"}

// readTenants reads the tenants of a file. Whether the layout has room for them is not looked at.
func readTenants(path string, value configfile.Value) (all []tenant.Tenant, err error) {
	for _, entry := range value.Entries {
		t := tenant.Tenant{Name: entry.Name, At: fmt.Sprintf("%s:%d", path, entry.Line)}
		wrong := func(line int, format string, args ...any) error {
			return &usageError{&configfile.Error{Path: path, Line: line, Err: fmt.Errorf("tenant %q: %w", t.Name, fmt.Errorf(format, args...))}}
		}
		numbered := false
		for _, field := range entry.Entries {
			switch field.Name {
			case "id":
				numbered = true
				t.ID, err = strconv.ParseUint(field.Text, 10, 64)
				if err != nil {
					err = fmt.Errorf("%q is not a whole number of 0 or more", field.Text)
				}
			case "rate":
				t.Rate, err = issue.ParseRate(field.Text)
			case "form":
				if t.Form = field.Text; t.Form == "" {
					err = errors.New("a form has a name, such as base62")
				}
			default:
				return nil, wrong(field.Line, "%s", unknownName("setting of a tenant", field.Name, tenantFields, "deploy/flakeward.yaml"))
			}
			if err == nil && field.Value.Entries != nil {
				err = errors.New("it takes a single value, not a mapping")
			}
			if err != nil {
				return nil, wrong(field.Line, "%s: %w", field.Name, err)
			}
		}
		if !numbered {
			return nil, wrong(entry.Line, "its id is missing: give it a number of the layout's tenant field, such as %s: {id: 3}", t.Name)
		}
		all = append(all, t)
	}
	return all, nil
}

// tenantNames are the names of tenants by their numbers.
type tenantNames map[uint64]string

func namesOf(all []tenant.Tenant) tenantNames {
	names := make(tenantNames, len(all))
	for _, t := range all {
		names[t.ID] = t.Name
	}
	return names
}

// namesTimeout bounds how long a daemon is asked for names that a command can do without.
const namesTimeout = time.Second

// namesOfDaemon asks the daemon at the socket for the names of its tenants. If it does not tell them
// there are none.
func (f *clientFlags) namesOfDaemon(ctx context.Context) tenantNames {
	ctx, cancel := context.WithTimeout(ctx, namesTimeout)
	defer cancel()
	client := f.open()
	defer client.close()
	in, err := client.status(ctx)
	if err != nil {
		return nil
	}
	return info.Tenants(in)
}
