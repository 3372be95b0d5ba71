package page

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/layouts"
)

// idView is an ID taken apart.
type idView struct {
	Asked, As string
	Error     string // why it was not; empty: it was
	ID        string
	Fields    []fieldView
	Holder    []pairView
	Note      string
	Rounded   string // why the ID may be another one; empty: it is not
}

type fieldView struct {
	Name, Bits, Means string
	Width             int
	Value             uint64
}

type pairView struct{ Name, Value string }

// Form reports whether the ID was said to be of a form.
func (v *idView) Form(name string) bool { return v != nil && v.As == name }

// longestShown is how much of what was asked for is repeated.
const longestShown = 80

// holderTimeout is how long the coordinator may take.
const holderTimeout = 2 * time.Second

// pasted is an ID without what comes with it from a document or a program, and in lower case where
// case means nothing: a reader of UUIDs takes both (RFC 9562, section 4).
func pasted(text, as string) string {
	text = strings.Trim(text, " \t\r\n\"'`,;{}")
	if as == "uuid" || strings.Count(text, "-") == 4 {
		return strings.ToLower(text)
	}
	return text
}

// takeApart takes an ID apart, and asks whose it was.
func (p *Page) takeApart(ctx context.Context, text, as string) *idView {
	v := &idView{Asked: text[:min(len(text), longestShown)], As: as}
	text = pasted(text, as)
	id, parts, err := p.config.Decode(text, as)
	if err != nil {
		v.Error = err.Error()
		return v
	}
	v.ID = strconv.FormatInt(id, 10)
	if form.MayBeRounded(text) {
		v.Rounded = form.Rounded
	}
	now := time.Unix(0, p.config.Clock.Now().Wall)
	for _, f := range layouts.Of(p.config.Layout, now).Fields {
		value := uint64(id) >> f.Shift & f.Highest
		v.Fields = append(v.Fields, fieldView{
			Name: f.Field, Bits: fmt.Sprintf("%0*b", f.Bits, value), Width: f.Bits, Value: value, Means: p.means(f.Field, parts, now),
		})
	}
	ctx, cancel := clockguard.WithTimeout(ctx, p.config.Clock, holderTimeout)
	defer cancel()
	found, err := p.config.Holder(ctx, parts)
	if err != nil {
		v.Note = "whose it was is not known: " + err.Error()
		return v
	}
	v.Note = found.Note
	if h := found.Interval; h != nil {
		v.Holder = []pairView{{"host", cluster.Plain(h.Host)}, {"start of its daemon", cluster.Plain(h.Incarnation)}, {"version", cluster.Plain(h.Version)}}
		if !h.Since.IsZero() {
			v.Holder = append(v.Holder, pairView{"claimed", cluster.Time(h.Since)})
		}
	}
	return v
}

// means says what a field's value stands for.
func (p *Page) means(field string, parts generator.Parts, now time.Time) string {
	switch field {
	case generator.Time.String():
		at := p.config.Layout.StartOf(parts.Tick)
		age, when := now.Sub(at), " ago"
		if age < 0 {
			when = " from now"
		}
		wraps := strings.NewReplacer("T", " ", "Z", " UTC") // where there is little room
		return wraps.Replace(at.UTC().Format(resp.TimeFormat(p.config.Layout))) + ", " + cluster.Span(age) + when
	case generator.Worker.String():
		return "the worker ID that issued it"
	case generator.Sequence.String():
		return "its number in the tick"
	case generator.Datacenter.String():
		return "the cluster's datacenter"
	}
	if named, ok := p.config.Tenants.Of(parts.Tenant); ok {
		return named.Name
	}
	return "the tenant"
}
