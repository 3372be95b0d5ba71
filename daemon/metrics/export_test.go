package metrics

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Rows are the rows of the table in docs/metrics.md, without the Go runtime's and the process's.
func Rows() (rows []string) {
	row := func(name, kind string, labels []string, help string) {
		shown := "-"
		if len(labels) > 0 {
			shown = "`" + strings.Join(labels, "`, `") + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s%s` | %s | %s | %s |", prefix, name, kind, shown, strings.TrimSuffix(help, ".")))
	}
	for _, f := range families {
		kind := "gauge"
		if f.kind == prometheus.CounterValue {
			kind = "counter"
		}
		row(f.name, kind, f.labels, f.help)
	}
	row(durationName, "histogram", []string{"dialect"}, durationHelp)
	row(callName, "histogram", []string{"call"}, callHelp)
	row(callsName, "counter", []string{"call", "outcome"}, callsHelp)
	return rows
}
