package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// start is one start of a daemon.
type start struct {
	host   int // of sites
	number int // on its host, from 1
	began  evidence.Mono
	log    log[evidence.Event]
}

var errEnough = errors.New("enough is read")

// findStarts reads how each log of a daemon begins. It returns the starts of the first host in
// their order, then those of the second, and so on. A log in which nothing was written is of a
// daemon that was killed before it could begin.
func findStarts(layout *generator.Layout, sites []site) ([]start, error) {
	var all []start
	incarnations := map[string]string{}
	cluster := layout.String()
	for h, s := range sites {
		var starts []start
		for _, d := range s.daemons {
			var began *evidence.Event
			err := d.read(func(e evidence.Event) error {
				began = &e
				return errEnough
			})
			if err != nil && !errors.Is(err, errEnough) {
				return nil, fmt.Errorf("audit: %w", err)
			}
			if began == nil {
				continue
			}
			if began.Kind != evidence.Began {
				return nil, fmt.Errorf("audit: %s does not begin with the start of a daemon", d.name)
			}
			if other, ok := incarnations[began.Incarnation]; ok {
				return nil, fmt.Errorf("audit: %s is of the same start of a daemon as %s", d.name, other)
			}
			incarnations[began.Incarnation] = d.name
			// The datacenter may follow the layout.
			text, _, _ := strings.Cut(began.Layout, ";datacenter=")
			if !isLayout(text, cluster) {
				return nil, fmt.Errorf("audit: %s is of layout %q, and the cluster's is %s", d.name, began.Layout, cluster)
			}
			starts = append(starts, start{host: h, began: began.At, log: d})
		}
		if len(starts) == 0 {
			return nil, fmt.Errorf("audit: no daemon of host %s has written anything", s.name)
		}
		slices.SortStableFunc(starts, func(a, b start) int { return cmp.Compare(a.began, b.began) })
		for i := range starts {
			starts[i].number = i + 1
		}
		all = append(all, starts...)
	}
	return all, nil
}

// isLayout reports whether a text is of the layout that the other is the full form of.
func isLayout(text, full string) bool {
	if text == full {
		return true
	}
	l, err := generator.ParseLayout(text)
	return err == nil && l.String() == full
}

// startName names a start to a reader.
func (j *court) startName(l *start) string {
	return fmt.Sprintf("start %d of %s", l.number, j.sites[l.host].name)
}
