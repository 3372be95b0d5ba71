package page

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/generator"
)

// More of them than so many are not shown: the page says where they are.
const (
	mostLines   = 8
	mostMembers = 100
)

// view is what the template shows.
type view struct {
	Assets, Version, Host, Layout string
	Parts                         []string

	State   stateView
	Lanes   []laneView
	Lines   []laneView // the first of them
	Held    string     // by how much the wall clock is ahead and not believed; empty: it is
	HeldAt  float64
	Traffic trafficView
	// Conditions are those of the lanes and of the clock.
	Conditions []conditionView
	Log        []logView
	Members    membersView
	ID         *idView // nil: none was asked for
}

// Axis is what is written below the clock's line.
func (view) Axis() any { return axis }

// Forms are those in which an ID can be asked for, besides integers and UUIDs, which are told
// apart.
func (view) Forms() []string { return []string{"base62"} }

type stateView struct {
	Good, Warn  bool
	Text        string
	Now         string
	Clock       string
	Cluster     string
	Coordinator string
	Unique      string
	Answers     string // whether the coordinator does
	Away        bool
	LayoutEnd   string // how long until then
}

// laneView is a lane, with how far from now its ticks are, in words and on the line.
type laneView struct {
	Number                         int
	State                          string
	Serves                         bool
	Worker                         string
	Floor, Issued, Mark, Ceiling   string
	FloorAt, IssuedAt, MarkAt      float64
	CeilingAt                      float64
	ReadyWidth, From, GrantedWidth float64 // from now on: up to the mark, and from there up to the ceiling
	Named                          bool    // there are several
	HasFloor, HasIssued, HasGrant  bool
}

type conditionView struct{ Where, Code, Text, Do string }

type logView struct {
	At, Code, Text, Do string
	N                  uint64
}

type membersView struct {
	List  []memberView
	More  int
	Asked bool
	Error string
	Age   string
	Known bool
}

type memberView struct {
	Worker                                int
	Host, State, Ceiling, Mark, Issued    string
	Claimed, Version, Clock, Waits, Short string
	Own                                   bool
}

// view gathers it.
func (p *Page) view(f metrics.Figures) view {
	p.mu.Lock()
	happened := append([]entry(nil), p.events.list...)
	asked, list, last := p.asked, p.history.all(), p.history.last
	p.mu.Unlock()
	v := view{
		Assets: assetsVersion(), Version: p.config.Version, Host: p.config.Host, Layout: f.Layout.String(), Parts: partNames,
		State: stateOf(f, asked), Traffic: trafficOf(list, last), Members: membersOf(f, asked),
	}
	for _, l := range f.Lanes {
		v.Lanes = append(v.Lanes, laneOf(f, l))
		var known *condition.Condition
		if errors.As(l.Condition, &known) {
			v.Conditions = append(v.Conditions, conditionView{"lane " + strconv.Itoa(l.Number), string(known.Code), known.Error(), known.Do()})
		}
	}
	v.Lines = v.Lanes[:min(len(v.Lanes), mostLines)]
	if hold := f.Clock.Hold; hold.Ahead > 0 {
		text := "it is " + cluster.Span(hold.Ahead) + " ahead since " + cluster.Time(time.Unix(0, hold.From))
		if hold.Conclusion.Why != nil {
			text += ": " + hold.Conclusion.Why.Error()
		}
		v.Held, v.HeldAt = cluster.Signed(hold.Ahead), place(hold.Ahead)
		v.Conditions = append(v.Conditions, conditionView{"clock", string(condition.ClockHeld), text, condition.ClockHeld.Do()})
	}
	for i := len(happened) - 1; i >= 0; i-- {
		e := happened[i]
		v.Log = append(v.Log, logView{e.at.UTC().Format("2006-01-02 15:04:05"), e.code, e.text, e.do, e.n})
	}
	return v
}

// states say in words what INFO's states are.
var states = map[string]string{
	"ready": "Issuing IDs", "clock-behind": "Issuing IDs; the clock is behind the last one",
	"stopped": "Cannot issue IDs: the grant or the mark on the disk has ended", "unavailable": "Cannot issue IDs: no worker ID",
	"starting": "Cannot issue IDs yet: the daemon is starting",
}

func stateOf(f metrics.Figures, asked asked) stateView {
	s := stateView{
		Text: states[f.State], Now: time.Unix(0, f.Now.Wall).UTC().Format("2006-01-02 15:04:05"), Clock: "followed",
		Cluster: f.Cluster.ID, Coordinator: f.Cluster.Coordinator, Unique: "in this cluster",
		LayoutEnd: left(f.Layout.YearsLeft(time.Unix(0, f.Now.Wall))),
	}
	for _, l := range f.Lanes {
		s.Good = s.Good || l.Serves
		s.Warn = s.Warn || l.Condition != nil || !l.Serves
	}
	s.Good = s.Good && f.State != "starting"
	s.Warn = s.Warn || f.State != "ready"
	if f.Cluster.UniqueWithin != "cluster" {
		s.Unique = "in this state directory only"
	}
	switch {
	case f.Clock.NotReady:
		s.Clock, s.Warn = "not ready: it is ahead of the cluster's", true
	case f.Clock.Hold.Ahead > 0:
		s.Clock, s.Warn = "held: "+cluster.Span(f.Clock.Hold.Ahead)+" ahead and not trusted", true
	case f.Clock.Synchronised:
		s.Clock += ", synchronised to " + span(f.Clock.MaxError)
	}
	switch {
	case asked.at == 0:
		s.Answers = "not asked yet"
	case asked.err != nil:
		s.Away, s.Warn = true, true
		s.Answers = "does not answer since " + asked.since.UTC().Format("15:04:05")
	default:
		s.Answers = "answers in " + span(asked.took)
	}
	return s
}

// daysInYear is the mean length of a Gregorian year.
const daysInYear = 365.2425

// left writes how long that is: in days where somebody should do something about it.
func left(years float64) string {
	if years >= 2 {
		return strconv.Itoa(int(years)) + " years"
	}
	return strconv.Itoa(int(years*daysInYear)) + " days"
}

func laneOf(f metrics.Figures, l metrics.Lane) laneView {
	h := l.Holding
	v := laneView{Number: l.Number, State: l.State, Serves: l.Serves, Worker: "none", Floor: "–", Issued: "–", Mark: "–", Ceiling: "–", Named: len(f.Lanes) > 1}
	if h.Worker != coord.AnyWorker {
		v.Worker = strconv.Itoa(h.Worker)
	}
	away := func(t generator.Tick) (time.Duration, string, float64) {
		d := time.Duration(f.Layout.UnixNanos(t) - f.Now.Wall)
		return d, signed(d), place(d)
	}
	var mark, ceiling time.Duration
	if v.HasFloor = h.Floor > 0; v.HasFloor {
		_, v.Floor, v.FloorAt = away(h.Floor)
	}
	if v.HasIssued = h.Issued > 0; v.HasIssued {
		_, v.Issued, v.IssuedAt = away(h.Issued)
	}
	if v.HasGrant = h.Granted > 0; !v.HasGrant {
		return v
	}
	mark, v.Mark, v.MarkAt = away(h.Mark)
	ceiling, v.Ceiling, v.CeilingAt = away(h.Granted)
	reach := max(0, min(mark, ceiling))
	v.ReadyWidth = place(reach) - 50
	v.From = 50 + v.ReadyWidth
	v.GrantedWidth = max(0, v.CeilingAt-v.From)
	return v
}

func membersOf(f metrics.Figures, asked asked) membersView {
	v := membersView{Asked: asked.at != 0, Known: asked.listed != 0}
	if asked.unlisted != nil {
		v.Error = asked.unlisted.Error()
	}
	if asked.err != nil {
		v.Error = asked.err.Error()
	}
	if v.Known {
		v.Age = cluster.Span(f.Now.Mono.Sub(asked.listed))
	}
	own := map[string]bool{}
	for _, l := range f.Lanes {
		own[l.Holding.Claim] = true
	}
	for i, m := range asked.members.Members {
		if i == mostMembers {
			v.More = len(asked.members.Members) - i
			break
		}
		// How far it had come when the members were listed.
		v.List = append(v.List, memberView{
			Worker: m.Worker, Host: cluster.Plain(m.Host), State: m.State, Version: cluster.Plain(m.Version), Own: own[m.Claim],
			Ceiling: distance(m.Left, 1), Mark: mark(m), Issued: distance(m.IssuedAge, -1), Claimed: distance(m.Age, -1),
		})
	}
	return v
}

// distance writes how far from its clock's now something is; sign says which way the seconds count.
func distance(seconds *float64, sign float64) string {
	if seconds == nil {
		return "–"
	}
	return signed(time.Duration(*seconds * sign * float64(time.Second)))
}

// mark is the later of mark and last issued tick, as a member has published it.
func mark(m cluster.Member) string { return distance(m.Lag, -1) }

// signed writes how far from now something is.
func signed(d time.Duration) string {
	if d.Abs() < 50*time.Millisecond {
		return "now"
	}
	return strings.Replace(cluster.Signed(d), "-", "−", 1)
}
