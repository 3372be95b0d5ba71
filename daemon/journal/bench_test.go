package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// BenchmarkWrite writes a journal in place and, in turn, as a new file that is renamed over the old
// one, in the same directory: each until it survives a power cut. It reports the medians, in
// microseconds, the times that one write in a hundred exceeds, and how many times as long the
// medians of the second are.
func BenchmarkWrite(b *testing.B) {
	d := must.Get(OpenDir(filepath.Join(b.TempDir(), "state"), here))(b)
	defer d.Close() //nolint:errcheck // the directory is removed
	must.Do(b, d.Write(contents(0)))
	var inPlace, renamed []time.Duration
	took := func(all *[]time.Duration, write func() error) {
		begun := time.Now()
		must.Do(b, write())
		*all = append(*all, time.Since(begun))
	}
	for mark := generator.Tick(1); b.Loop(); mark++ {
		took(&inPlace, func() error { return d.Write(contents(mark)) })
		took(&renamed, func() error { return writeRenamed(d, contents(mark), uint64(mark)) })
	}
	report := func(name string, all []time.Duration) (median time.Duration) {
		slices.Sort(all)
		median = all[len(all)/2]
		b.ReportMetric(float64(median.Nanoseconds())/1e3, name+"-µs")
		b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e3, name+"-p99-µs")
		return median
	}
	of, than := report("renamed", renamed), report("in-place", inPlace)
	b.ReportMetric(float64(of)/float64(than), "times")
}

// writeRenamed writes a file beside the journal, gives it a name by a rename, and flushes both.
func writeRenamed(d *Dir, c Contents, number uint64) error {
	data, err := encode(c, number)
	if err != nil {
		return err
	}
	f, err := d.root.OpenFile("renamed.next", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := d.root.Rename("renamed.next", "renamed"); err != nil {
		return err
	}
	return d.self.Sync()
}
