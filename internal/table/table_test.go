package table_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/internal/table"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	err := table.Write(&b, []string{"drill", "faults", "empty", "stall", "note"}, [][]string{
		{"calm", "0", "", "-", ""},
		{"two\nlines", "1,200", "", "4.2 ms", "a | b <c>, and so on"},
	})
	want := "| drill     | faults |  stall | note |\n" +
		"| --------- | -----: | -----: | --- |\n" +
		"| calm      |      0 |      - |  |\n" +
		"| two lines |  1,200 | 4.2 ms | a \\| b &lt;c>, and so on |\n\n"
	if err != nil || b.String() != want {
		t.Errorf("%v\n%swant\n%s", err, b.String(), want)
	}
}

// No text makes a row of more or fewer cells than its table has, or a line that is no row.
func TestWriteKeepsItsCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a1| \n\r<b")))
		var rows [][]string
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			rows = append(rows, []string{"a", text.Draw(t, "second"), text.Draw(t, "third")})
		}
		var b strings.Builder
		if err := table.Write(&b, []string{"1", "2", "3"}, rows); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n\n"), "\n")
		cells := strings.Count(lines[1], "|")
		for _, line := range lines {
			if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != cells || len(lines) != len(rows)+2 || strings.ContainsAny(line, "<\r") {
				t.Fatalf("%d of %d cells in %q, of %q", n, cells, line, lines)
			}
		}
	})
}

func TestWriteSaysWhatFails(t *testing.T) {
	if err := table.Write(full{}, []string{"a"}, nil); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("no space")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
