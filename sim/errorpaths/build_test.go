package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// FuzzReadProfile: a profile that is accepted and written anew reads as the same.
func FuzzReadProfile(f *testing.F) {
	f.Add("mode: count\nm/a.go:1.2,3.4 5 6\nm/b.go:10.20,30.40 1 0\n")
	f.Add("m/a.go:1.2,3.4 5 18446744073709551615 \n:1.2,3.4 5 6")
	f.Fuzz(func(t *testing.T, text string) {
		blocks, err := readProfile(strings.NewReader(text))
		if err != nil {
			return
		}
		var written strings.Builder
		for file, all := range blocks {
			for _, b := range all {
				fmt.Fprintf(&written, "%s:%d.%d,%d.%d 1 %d\n", file, b.from.line, b.from.column, b.to.line, b.to.column, b.count)
			}
		}
		if again, err := readProfile(strings.NewReader(written.String())); err != nil || !reflect.DeepEqual(again, blocks) {
			t.Errorf("%q is %v, and that is written as %q: %v, %v", text, blocks, written.String(), again, err)
		}
	})
}
