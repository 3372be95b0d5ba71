package report

import "slices"

// grid are plots of lines as one table, for where there is no other: a row for each x, a column for
// each line, and the titles first.
func grid(plots []Plot) (rows [][]string) {
	plots = slices.DeleteFunc(slices.Clone(plots), func(p Plot) bool { return p.Bars })
	if len(plots) == 0 {
		return nil
	}
	var at []float64
	titles := []string{plots[0].X.Label}
	for _, p := range plots {
		for _, l := range p.Lines {
			at = append(at, l.X...)
			titles = append(titles, p.Title+": "+l.Name)
		}
	}
	slices.Sort(at)
	rows = [][]string{titles}
	for _, x := range slices.Compact(at) {
		row := []string{Format(plots[0].X.Unit, x)}
		for _, p := range plots {
			for _, l := range p.Lines {
				cell := ""
				if i := slices.Index(l.X, x); i >= 0 && i < len(l.Y) {
					cell = l.cell(p.Y.Unit, i)
				}
				row = append(row, cell)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// cell is a point with its spread, if it has one.
func (l Line) cell(u Unit, i int) string {
	if i >= len(l.Low) || i >= len(l.High) {
		return Format(u, l.Y[i])
	}
	return spread(u, l.Y[i], l.Low[i], l.High[i])
}
