// Command picture draws the drills that were run last as one picture, for the README:
//
//	go run ./e2e/report/picture -in e2e/runs -out docs/drills.svg
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/flakeward/flakeward/e2e/report"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("picture", flag.ContinueOnError)
	in := flags.String("in", "e2e/runs", "the `directory` with the drills' folders")
	out := flags.String("out", "docs/drills.svg", "the `file` to write")
	show := flags.String("show", "leader", "whose timeline is drawn: part of a drill's `name`")
	on := flags.String("on", "etcd", "its `coordinator`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	drills, err := report.LoadAll(*in)
	if err != nil {
		return err
	}
	shown, err := choose(drills, *show, *on)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*out, []byte(report.Summary(drills, shown)), 0o644); err != nil {
		return fmt.Errorf("cannot write the picture: %w", err)
	}
	return nil
}

// choose returns the first drill that is meant.
func choose(drills []report.Drill, name, coordinator string) (report.Drill, error) {
	var names []string
	for _, d := range drills {
		if strings.Contains(d.Name, name) && strings.EqualFold(d.Coordinator, coordinator) {
			return d, nil
		}
		names = append(names, d.Name+" on "+d.Coordinator)
	}
	return report.Drill{}, fmt.Errorf("no drill with %q in its name ran on %q; there are: %s", name, coordinator, strings.Join(names, ", "))
}
