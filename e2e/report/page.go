package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"picture":    func(d Drill) template.HTML { return template.HTML(timeline(d, false)) }, // timeline escapes
	"style":      func() template.CSS { return template.CSS(style) },
	"grouped":    grouped,
	"lasting":    lasting,
	"violations": violations,
	"plural":     plural,
	"class":      func(v Verdict) string { return strings.ToLower(v.String()) },
	"join":       func(s []string) string { return strings.Join(s, ", ") },
	"when":       func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
}).Parse(pageHTML))

// Write writes the whole run as one HTML page that needs nothing else.
func Write(w io.Writer, r Run) error {
	err := page.Execute(w, struct {
		Run
		Total totals
		Line  string
	}{r, sum(r.Drills), summary(sum(r.Drills))})
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}
