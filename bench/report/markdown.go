package report

import (
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"time"
)

// Markdown is the page: the verdicts, the tables by group with their plots, which lie below dir as
// NAME.svg, and what was measured when and on what.
func (r Results) Markdown(dir string) []byte {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n")
	b.WriteString("<!-- Made by `make bench` from benchmarks/results.json; `go run ./bench -render` makes it again without measuring. -->\n\n")
	b.WriteString(introduction)
	r.verdicts(&b)
	for _, g := range r.groups() {
		r.group(&b, g, dir)
	}
	r.when(&b)
	return []byte(b.String())
}

const introduction = "flakeward next to its peers, on one machine in the same minutes: `make bench` measures everything and writes this page, and\n" +
	"`go run ./bench -only socket` measures that section again and leaves the rest.\n\n" +
	"Contestants are measured in turn, A B A B and so on, so that what slows the machine down slows all of them. A value is the median of its\n" +
	"rounds, with the lowest and the highest of them in parentheses. A ratio is flakeward's median over the peer's; in parentheses are the\n" +
	"lowest and the highest ratio of a single round. Load generators run on the same processors as the servers. Every sample is in\n" +
	"[results.json](benchmarks/results.json).\n\n"

func (r Results) verdicts(b *strings.Builder) {
	count := make(map[Verdict]int)
	for _, f := range r.Figures() {
		count[f.Verdict()]++
	}
	fmt.Fprintf(b, "**%d targets met, %d missed, %d figures not run.**\n\n", count[Met], count[NotMet], count[NotRun])
	for _, s := range r.Sections {
		if s.Failed != "" {
			fmt.Fprintf(b, "The section `%s` could not be measured to its end: %s\n\n", s.Name, escape(s.Failed))
		}
	}
	for _, s := range r.Sections {
		for _, m := range s.Missing {
			fmt.Fprintf(b, "Not measured, as it is missing: %s\n\n", escape(m))
		}
	}
}

// groups are the tables' headings in the order in which they come first.
func (r Results) groups() (all []string) {
	for _, s := range r.Sections {
		for _, f := range s.Figures {
			if !slices.Contains(all, f.Group) {
				all = append(all, f.Group)
			}
		}
		for _, p := range s.Plots {
			if !slices.Contains(all, p.Group) {
				all = append(all, p.Group)
			}
		}
	}
	return all
}

func (r Results) group(b *strings.Builder, group, dir string) {
	fmt.Fprintf(b, "## %s\n\n", escape(group))
	var figures []Figure
	var plots []Plot
	for _, s := range r.Sections {
		figures = append(figures, slices.DeleteFunc(slices.Clone(s.Figures), func(f Figure) bool { return f.Group != group })...)
		plots = append(plots, slices.DeleteFunc(slices.Clone(s.Plots), func(p Plot) bool { return p.Group != group })...)
	}
	table(b, figures)
	if len(figures) == 0 {
		markdownGrid(b, grid(plots))
	}
	if said := madeOf(counts(figures, plots)); said != "" {
		fmt.Fprintf(b, "%s\n\n", said)
	}
	// Two fit side by side.
	for i, p := range plots {
		width := ""
		if len(plots) > 1 {
			width = ` width="49%"`
		}
		fmt.Fprintf(b, "<img alt=\"%s\" src=\"%s/%s.svg\"%s>\n", html.EscapeString(p.Title), dir, p.Name, width)
		if i == len(plots)-1 {
			b.WriteString("\n")
		}
	}
}

// table writes figures, without the columns that none of them fills.
func table(b *strings.Builder, figures []Figure) {
	if len(figures) == 0 {
		return
	}
	type column struct {
		title string
		cell  func(cells) string
	}
	columns := []column{
		{"", func(c cells) string { return c.what }},
		{"flakeward", func(c cells) string { return c.ours }},
		{"next to", func(c cells) string { return c.theirs }},
		{"ratio", func(c cells) string { return c.ratio }},
		{"target", func(c cells) string { return c.target }},
		{"verdict", func(c cells) string { return verdictCell(c.verdict) }},
		{"note", func(c cells) string { return c.note }},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(figures, func(f Figure) bool { return c.cell(f.cells()) != "" })
	})
	row := func(cell func(column) string) {
		for _, c := range columns {
			fmt.Fprintf(b, "| %s ", cell(c))
		}
		b.WriteString("|\n")
	}
	row(func(c column) string { return c.title })
	row(func(column) string { return "---" })
	for _, f := range figures {
		row(func(c column) string { return escape(c.cell(f.cells())) })
	}
	b.WriteString("\n")
}

// markdownGrid writes rows, the first of which has the titles.
func markdownGrid(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		for _, cell := range row {
			fmt.Fprintf(b, "| %s ", escape(cell))
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n")
	}
}

func verdictCell(v string) string {
	if v == string(NotMet) {
		return "**" + v + "**"
	}
	return v
}

// when says when and on what each section was measured, and names a machine once.
func (r Results) when(b *strings.Builder) {
	b.WriteString("## Measured when, on what and with what\n\n")
	b.WriteString("| section | what | rounds | begun | took | load before | and after | machine |\n|---|---|---|---|---|---|---|---|\n")
	var machines []Machine
	versions := make(map[string][]string)
	for _, s := range r.Sections {
		at := slices.Index(machines, s.Machine)
		if at < 0 {
			at = len(machines)
			machines = append(machines, s.Machine)
		}
		short := ""
		if s.Short {
			short = ", with -short: too briefly to count"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %.0f s%s | %s | %s | %d |\n", escape(s.Name), escape(s.About), made(counts(s.Figures, s.Plots)), s.Begun.UTC().Format("2006-01-02 15:04 MST"), s.Took, short, escape(s.Load), escape(s.After), at+1)
		for name, version := range s.Versions {
			if !slices.Contains(versions[name], version) {
				versions[name] = append(versions[name], version)
			}
		}
	}
	b.WriteString("\n")
	for i, m := range machines {
		fmt.Fprintf(b, "%d. %d processors, %s; memory %s; kernel %s, clock source %s; %s; %s\n", i+1, m.Processors,
			escape(m.Processor), escape(m.Memory), escape(m.Kernel), escape(m.Clock), escape(m.Go), escape(m.Daemon))
	}
	if len(versions) > 0 {
		b.WriteString("\nPeers, libraries and load generators:\n\n| name | version |\n|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(versions)) {
			fmt.Fprintf(b, "| %s | %s |\n", escape(name), escape(strings.Join(versions[name], ", ")))
		}
	}
	fmt.Fprintf(b, "\nAll sections together took %v.\n", r.took().Round(time.Second))
}

func (r Results) took() (all time.Duration) {
	for _, s := range r.Sections {
		all += time.Duration(s.Took * float64(time.Second))
	}
	return all
}

// escape has a text stay in its cell or line.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;").Replace(s)
}
