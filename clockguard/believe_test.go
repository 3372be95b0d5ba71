package clockguard

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	s  = time.Second
	hr = time.Hour
)

// at are servers whose clocks are behind the wall clock by so much, each known within a millisecond.
func at(behind ...time.Duration) (servers []ServerTime) {
	for _, d := range behind {
		servers = append(servers, ServerTime{Wall: -int64(d), Error: ms})
	}
	return servers
}

func members(behind ...time.Duration) (times []int64) {
	for _, d := range behind {
		times = append(times, -int64(d))
	}
	return times
}

func TestStepBelief(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    Evidence
		want Verdict
		why  error
		for_ time.Duration
	}{
		{"nobody", Evidence{Ahead: hr}, Held, ErrNobody, time.Minute},
		{"nobody, for 1 ns less than long", Evidence{Ahead: hr, Held: time.Minute - 1}, Held, ErrNobody, 1},
		{"nobody, for long", Evidence{Ahead: hr, Held: time.Minute}, Followed, ErrHeldLong, 0},
		{"nobody, for long, beyond the grant", Evidence{Ahead: hr, Held: time.Minute, Stranded: true}, Held, ErrStranded, 0},

		{"one server of one agrees", Evidence{Ahead: hr, Asked: 1, Servers: at(0)}, Followed, ErrServers, 0},
		{"it is 10 s apart, less its error", Evidence{Ahead: hr, Asked: 1, Servers: at(10*s - ms)}, Followed, ErrServers, 0},
		{"it may be 10 s apart or not", Evidence{Ahead: hr, Asked: 1, Servers: at(10*s - ms + 1)}, Held, ErrNobody, time.Minute},
		{"it may still be", Evidence{Ahead: hr, Asked: 1, Servers: at(10*s + ms)}, Held, ErrNobody, time.Minute},
		{"it is more than 10 s apart", Evidence{Ahead: hr, Asked: 1, Servers: at(10*s + ms + 1)}, Held, ErrContradict, 0},
		{"it is further ahead", Evidence{Ahead: hr, Asked: 1, Servers: at(-10*s - ms - 1)}, Held, ErrContradict, 0},
		{"it is as far ahead as times go", Evidence{Wall: math.MinInt64, Ahead: hr, Asked: 1, Servers: []ServerTime{{Wall: math.MaxInt64}}}, Held, ErrContradict, 0},
		{"a step of 2 s, the server 1 s behind", Evidence{Ahead: 2 * s, Asked: 1, Servers: at(s - ms)}, Followed, ErrServers, 0},
		{"a step of 2 s, the server over 1 s behind", Evidence{Ahead: 2 * s, Asked: 1, Servers: at(s + ms + 1)}, Held, ErrContradict, 0},

		{"one of two agrees", Evidence{Ahead: hr, Asked: 2, Servers: at(0)}, Held, ErrNobody, time.Minute},
		{"two of three agree", Evidence{Ahead: hr, Asked: 3, Servers: at(0, 0)}, Followed, ErrServers, 0},
		{"two of three agree, one does not", Evidence{Ahead: hr, Asked: 3, Servers: at(0, 0, hr)}, Followed, ErrServers, 0},
		{"one agrees, one does not", Evidence{Ahead: hr, Asked: 2, Servers: at(0, hr)}, Held, ErrContradict, 0},
		{"one of three agrees, one does not, one does not answer", Evidence{Ahead: hr, Asked: 3, Servers: at(0, hr)}, Held, ErrContradict, 0},
		{"two of five agree, one does not", Evidence{Ahead: hr, Asked: 5, Servers: at(0, 0, hr)}, Held, ErrNobody, time.Minute},
		{"they disagree for long", Evidence{Ahead: hr, Asked: 3, Servers: at(hr, hr, hr), Held: 24 * hr}, Held, ErrContradict, 0},
		{"they disagree, the kernel agrees", Evidence{Ahead: hr, Asked: 1, Servers: at(hr), Reported: true, Synchronised: true}, Held, ErrContradict, 0},
		{"they disagree, members agree", Evidence{Ahead: hr, Asked: 1, Servers: at(hr), Members: members(0)}, Followed, ErrMembers, 0},

		{"a member", Evidence{Ahead: hr, Members: members(0)}, Followed, ErrMembers, 0},
		{"it published 20 s ago", Evidence{Ahead: hr, Members: members(20 * s)}, Followed, ErrMembers, 0},
		{"it published longer ago", Evidence{Ahead: hr, Members: members(20*s + 1)}, Held, ErrNobody, time.Minute},
		{"a step of 10 s, a member half behind", Evidence{Ahead: 10 * s, Members: members(5 * s)}, Followed, ErrMembers, 0},
		{"a step of 10 s, a member more behind", Evidence{Ahead: 10 * s, Members: members(5*s + 1)}, Held, ErrNobody, time.Minute},
		{"one member of two", Evidence{Ahead: hr, Members: members(0, hr)}, Held, ErrNobody, time.Minute},
		{"two members of three", Evidence{Ahead: hr, Members: members(0, hr, 0)}, Followed, ErrMembers, 0},

		{"the kernel", Evidence{Ahead: hr, Reported: true, Synchronised: true, MaxError: hr - 1}, Followed, ErrKernel, 0},
		{"the kernel may be as wrong", Evidence{Ahead: hr, Reported: true, Synchronised: true, MaxError: hr}, Held, ErrNobody, time.Minute},
		{"the kernel is not synchronised", Evidence{Ahead: hr, Reported: true}, Held, ErrNobody, time.Minute},
		{"the kernel made no step", Evidence{Ahead: hr, Synchronised: true}, Held, ErrNobody, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := Conclusion{Verdict: tt.want, Why: tt.why, For: tt.for_}
			if got := DefaultBelief().Step(tt.e); got != want {
				t.Errorf("%v for %v (%v), want %v for %v (%v)", got.Verdict, got.For, got.Why, want.Verdict, want.For, want.Why)
			}
			trusting := DefaultBelief()
			trusting.Trust = true
			if got := trusting.Step(tt.e); got.Verdict != Followed {
				t.Errorf("trusting: %v (%v)", got.Verdict, got.Why)
			}
		})
	}
}

func TestStartBelief(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    Evidence
		want Verdict
		why  error
	}{
		{"nobody to ask", Evidence{}, Followed, ErrNobody},
		{"nobody answers", Evidence{Asked: 3}, Followed, ErrNobody},
		{"10 s ahead, and the error", Evidence{Asked: 3, Servers: at(10*s+ms, 10*s+ms, 10*s+ms), Members: members(hr)}, Followed, ErrServers},
		{"over 10 s ahead", Evidence{Asked: 3, Servers: at(10*s+ms+1, 10*s+ms+1, 10*s+ms+1), Members: members(hr)}, NotReady, ErrContradict},
		{"of three servers, alone", Evidence{Asked: 3, Servers: at(hr, hr, hr)}, NotReady, ErrContradict},
		{"of two in three", Evidence{Asked: 3, Servers: at(hr, 0, hr)}, NotReady, ErrContradict},
		{"of one in three", Evidence{Asked: 3, Servers: at(hr, 0, 0)}, Followed, ErrServers},
		{"of one in two", Evidence{Asked: 2, Servers: at(hr, 0)}, Followed, ErrServers},
		{"of the one that answers of three", Evidence{Asked: 3, Servers: at(hr)}, NotReady, ErrContradict},
		{"of the only one, alone", Evidence{Asked: 1, Servers: at(hr)}, Followed, ErrUnwitnessed},
		{"of the only one, a member as far", Evidence{Asked: 1, Servers: at(hr), Members: members(s)}, Followed, ErrMembers},
		{"of the only one, members not as far", Evidence{Asked: 1, Servers: at(hr), Members: members(hr, hr, hr)}, NotReady, ErrContradict},
		{"of all, members as far", Evidence{Asked: 3, Servers: at(hr, hr, hr), Members: members(20*s, hr, 0)}, Followed, ErrMembers},
		{"of all, members nearly as far", Evidence{Asked: 3, Servers: at(hr, hr, hr), Members: members(20*s+1, 0)}, NotReady, ErrContradict},
		{"behind", Evidence{Asked: 3, Servers: at(-hr, -hr, -hr)}, Followed, ErrServers},
		{"behind as far as times go", Evidence{Wall: math.MinInt64, Asked: 1, Servers: []ServerTime{{Wall: math.MaxInt64}}, Members: members(0)}, Followed, ErrServers},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := DefaultBelief().Start(tt.e); got.Verdict != tt.want || !errors.Is(got.Why, tt.why) {
				t.Errorf("%v (%v), want %v (%v)", got.Verdict, got.Why, tt.want, tt.why)
			}
			trusting := DefaultBelief()
			trusting.Trust = true
			if got := trusting.Start(tt.e); got.Verdict != Followed {
				t.Errorf("trusting: %v (%v)", got.Verdict, got.Why)
			}
		})
	}
}

func TestSaid(t *testing.T) {
	e := Evidence{Ahead: hr, Asked: 5, Servers: at(0, s, hr, 10*s), Members: members(0, hr), Reported: true}
	const want = "servers: 2 agree, 1 disagree, 2 do not tell; members: 1 of 2 have come as far; the kernel reported a step"
	if got := DefaultBelief().Said(e); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLead(t *testing.T) {
	for _, tt := range []struct {
		servers []ServerTime
		want    time.Duration
	}{
		{nil, 0}, {at(hr), hr}, {at(hr, s), s}, {at(s, -hr, hr), s}, {at(4, 1, 3, 2), 2},
	} {
		if got := (Evidence{Servers: tt.servers}).Lead(); got != tt.want {
			t.Errorf("ahead of %v by %v, want %v", tt.servers, got, tt.want)
		}
	}
}

// What is held for a while only comes to an end: no evidence that lasts is held longer than it says.
func TestAHoldLastsAsLongAsItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := DefaultBelief()
		e := Evidence{
			Ahead: time.Duration(rapid.Int64Range(int64(s), int64(100*hr)).Draw(t, "ahead")),
			Held:  time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(t, "held")),
			Asked: rapid.IntRange(0, 5).Draw(t, "asked"),
		}
		for range rapid.IntRange(0, e.Asked).Draw(t, "answers") {
			e.Servers = append(e.Servers, at(time.Duration(rapid.Int64Range(-int64(hr), int64(hr)).Draw(t, "behind")))...)
		}
		c := b.Step(e)
		if c.For < 0 || c.For > b.ForwardHold || c.Verdict == Followed && c.For != 0 {
			t.Fatalf("%v for %v", c.Verdict, c.For)
		}
		if c.For > 0 {
			if e.Held += c.For; b.Step(e).Verdict != Followed {
				t.Fatalf("still held after %v", c.For)
			}
		}
	})
}

func TestBeliefCheck(t *testing.T) {
	check := func(b Belief) (wrong []string) {
		b.Check(func(flag, _ string, _ ...any) { wrong = append(wrong, flag) })
		return wrong
	}
	if wrong := check(DefaultBelief()); len(wrong) != 0 {
		t.Errorf("the defaults: %v", wrong)
	}
	for _, tt := range []struct {
		b    Belief
		flag string
	}{
		{Belief{-1, leastSkew, false}, "forward-hold"}, {Belief{mostHold + 1, leastSkew, false}, "forward-hold"},
		{Belief{mostHold, leastSkew - 1, false}, "max-skew"}, {Belief{mostHold, mostSkew + 1, false}, "max-skew"},
	} {
		if wrong := check(tt.b); len(wrong) != 1 || wrong[0] != tt.flag {
			t.Errorf("%+v: %v, want --%s alone", tt.b, wrong, tt.flag)
		}
	}
}

func TestVerdictsHaveNames(t *testing.T) {
	for v, want := range map[Verdict]string{Held: "held", Followed: "followed", NotReady: "not-ready", NotReady + 1: "verdict 3"} {
		if v.String() != want {
			t.Errorf("%q, want %q", v, want)
		}
	}
}
