package resp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
)

// coder knows each form of the layout twitter.
var coder = func() *form.Coder {
	l, err := generator.ParseLayout("twitter")
	if err != nil {
		panic(err)
	}
	return form.New(l, "6f1c1a52-0b67-4b8e-9d6a-3c2f4e5d7a81")
}()

func written(f form.Form, id int64) string { return string(coder.Append(nil, f, id)) }

// formed is a handler that knows each form.
func formed(tb testing.TB, source resp.Source, change func(*resp.Config)) *resp.Handler {
	tb.Helper()
	c := resp.Config{Source: source, Layout: layout(tb, "twitter"), Coder: func() *form.Coder { return coder }}
	if change != nil {
		change(&c)
	}
	return resp.NewHandler(c)
}

func TestIDsComeInTheFormThatIsAskedFor(t *testing.T) {
	const id = 1 << 60 // 1152921504606846976
	const string19 = "$19\r\n1152921504606846976\r\n"
	for _, c := range []struct{ in, out string }{
		{"NEXT AS integer\r\n", ":1152921504606846976\r\n"},
		{"NEXT AS string\r\n", string19},
		{"next as STRING tenant 0\r\n", string19},
		{"NEXT TENANT 0 AS string\r\n", string19},
		{"NEXT 1 AS string\r\n", "*1\r\n" + string19},
		{"NEXT AS base62\r\n", "$11\r\n1NAOLcol8qW\r\n"},
		{"NEXT 2 AS base62\r\n", "*2\r\n$11\r\n1NAOLcol8qW\r\n$11\r\n1NAOLcol8qX\r\n"},
		{"NEXT AS uuid\r\n", "$36\r\n" + written(form.UUID, id) + "\r\n"},
		{"FORM\r\n", "$7\r\ninteger\r\n"},
		{"FORM base62\r\nFORM\r\n", "+OK\r\n$6\r\nbase62\r\n"},
		{"FORM base62\r\n*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\n", "+OK\r\n$11\r\n1NAOLcol8qW\r\n$11\r\n1NAOLcol8qX\r\n"},
		{"FORM base62\r\nNEXT AS integer\r\nNEXT\r\n", "+OK\r\n:1152921504606846976\r\n$11\r\n1NAOLcol8qX\r\n"},
		{"FORM string\r\nRUN 2\r\n", "+OK\r\n*3\r\n:1\r\n:1152921504606846976\r\n:2\r\n"},
		{"FORM base62\r\nFORM nosuch\r\nFORM\r\n", "+OK\r\n-ERR there is no form \"nosuch\": there are integer, string, base62, uuid\r\n$6\r\nbase62\r\n"},
		{"FORM base62\r\nRESET\r\nFORM\r\n", "+OK\r\n+RESET\r\n$7\r\ninteger\r\n"},
		{"FORM base62\r\nMULTI\r\nNEXT\r\nFORM string\r\n*1\r\n$4\r\nNEXT\r\nEXEC\r\n", "+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n" +
			"*3\r\n$11\r\n1NAOLcol8qW\r\n+OK\r\n$19\r\n1152921504606846977\r\n"},
	} {
		if out, closed := ask(formed(t, &ticks{next: id}, nil), c.in); out != c.out || closed {
			t.Errorf("%q:\n got %q (closed: %t)\nwant %q", c.in, out, closed, c.out)
		}
	}
}

// A form outlives HELLO.
func TestHelloKeepsTheForm(t *testing.T) {
	out, _ := ask(formed(t, &ticks{next: 5}, nil), "FORM string\r\nNEXT\r\nHELLO 3\r\nNEXT\r\nNEXT 2\r\nHELLO 2\r\nNEXT\r\n")
	if !strings.HasPrefix(out, "+OK\r\n$1\r\n5\r\n%7\r\n") || !strings.Contains(out, "*0\r\n$1\r\n6\r\n*2\r\n$1\r\n7\r\n$1\r\n8\r\n*14\r\n") || !strings.HasSuffix(out, "*0\r\n$1\r\n9\r\n") {
		t.Errorf("got %q", out)
	}
}

func TestTheDaemonsFormHoldsUntilAnotherIsChosen(t *testing.T) {
	h := formed(t, &ticks{next: 5}, func(c *resp.Config) { c.Form = form.String })
	out, _ := ask(h, "NEXT\r\nFORM\r\nFORM integer\r\nNEXT\r\nRESET\r\nNEXT\r\nRUN 1\r\n")
	if want := "$1\r\n5\r\n$6\r\nstring\r\n+OK\r\n:6\r\n+RESET\r\n$1\r\n7\r\n*3\r\n:1\r\n:8\r\n:1\r\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestDecodeTakesEachFormAndGuessesNone(t *testing.T) {
	const id = 1541815603606036480
	const decimal = "DECODE 1541815603606036480" // which may be rounded, and is told so
	h := formed(t, &ticks{}, nil)
	for _, in := range []string{
		"DECODE 1541815603606036480", "DECODE 1541815603606036480 AS string", "DECODE 1541815603606036480 as INTEGER",
		"DECODE 1ptWyK4WgZU AS base62",
		"DECODE " + written(form.UUID, id), "DECODE " + written(form.UUID, id) + " AS uuid",
	} {
		size := "*12"
		if strings.HasPrefix(in, decimal) {
			size = "*14"
		}
		if out, _ := ask(h, in+"\r\n"); !strings.HasPrefix(out, size+"\r\n$2\r\nid\r\n:1541815603606036480\r\n$4\r\ntime\r\n") {
			t.Errorf("%s: %q", in, out)
		}
	}
	for in, want := range map[string]string{
		"DECODE 1ptWyK4WgZU":                   `it may be base62: name that form`,
		"DECODE 1541815603606036480 AS base62": `it has 19 characters, not 11; it may be string: name that form`,
		"DECODE 5 AS base":                     `there is no form "base": did you mean base62? There are`,
		"DECODE 5 AS base61":                   `did you mean base62?`,
		`DECODE " 5"`:                          `it has " ", and its characters are 0-9`,
		`DECODE "5\n"`:                         `it has "\n", and its characters are 0-9`,
		"DECODE 5 AS":                          `'AS' is not understood here: use DECODE id [AS form]`,
		"DECODE 5 FROM uuid":                   `'FROM' is not understood here: use DECODE id [AS form]`,
		"DECODE \"a\\r\\n\\xff\" AS integer":   `-ERR "a\r\n\xff" is no ID of the form integer`,
	} {
		if out, _ := ask(h, in+"\r\n"); !strings.HasPrefix(out, "-ERR ") || !strings.Contains(out, want) {
			t.Errorf("%s: %q, want an error with %q", in, out, want)
		}
	}
	if out, _ := ask(h, "FORM base62\r\nDECODE 1541815603606036480\r\n"); !strings.HasPrefix(out, "+OK\r\n*14\r\n$2\r\nid\r\n$11\r\n1ptWyK4WgZU\r\n") {
		t.Errorf("the ID is not in the connection's form: %q", out)
	}
}

// A form that there is not, or cannot be, is refused before any ID is taken.
func TestAWrongFormCostsNoID(t *testing.T) {
	source := &ticks{}
	h := handler(t, source, "twitter", resp.Limits{})
	for in, want := range map[string]string{
		"NEXT AS nosuch":           `-ERR there is no form "nosuch"`,
		"NEXT 5 AS Strin":          `did you mean string?`,
		"NEXT AS":                  `'AS' is not understood here: use NEXT`,
		"NEXT AS string AS string": `'AS' is not understood here: use NEXT`,
		"NEXT 1 AS public":         `-ERR there is no form "public": there are integer, string, base62, uuid`,
		"FORM hex":                 `-ERR there is no form "hex": there are integer, string, base62, uuid`,
		"RUN 5 AS string":          `-ERR RUN answers integers, from which the others of a run are counted: use NEXT 5 AS string`,
		"RUN 5 TENANT 0 AS string": `-ERR RUN answers integers`,
	} {
		if out, _ := ask(h, in+"\r\n"); !strings.HasPrefix(out, "-ERR ") || !strings.Contains(out, want) {
			t.Errorf("%s: %q, want an error with %q", in, out, want)
		}
	}
	// Nor does a form that the layout has no texts of.
	early := must.Get(generator.ParseLayout("time=41@1ms,worker=10,sequence=12;epoch=1969-12-31"))(t)
	h = formed(t, source, func(c *resp.Config) {
		c.Coder = func() *form.Coder { return form.New(early, "6f1c1a52-0b67-4b8e-9d6a-3c2f4e5d7a81") }
	})
	if out, _ := ask(h, "NEXT AS uuid\r\n"); !strings.Contains(out, "begins before 1970") {
		t.Errorf("got %q", out)
	}
	if source.asked > 0 {
		t.Errorf("the source was asked %d times", source.asked)
	}
}

// No ID is issued while the cluster is unknown. If one were, it would be burnt and not be written.
func TestAUUIDWithoutAClusterIsUnavailable(t *testing.T) {
	h := handler(t, &ticks{}, "twitter", resp.Limits{})
	if out, _ := ask(h, "NEXT AS uuid\r\nNEXT 3 AS uuid\r\nPING\r\n"); strings.Count(out, "-UNAVAILABLE ") != 2 || !strings.HasSuffix(out, "+PONG\r\n") {
		t.Errorf("got %q", out)
	}
	if got := h.Tally(); got.IDs != 0 || got.Burnt != 4 {
		t.Errorf("tally %+v", got)
	}
}

// However long a form's texts are, no call appends much more than the limit.
func TestOutputOfEachFormIsBounded(t *testing.T) {
	const limit = 1000
	for _, name := range form.Names() {
		for _, version := range []string{"2", "3"} {
			c := client{handler: formed(t, &ticks{next: 1 << 62}, func(c *resp.Config) { c.Limits.Output = limit })}
			c.send([]byte("HELLO " + version + "\r\n"))
			c.longest = 0
			c.send([]byte("FORM " + name + "\r\nNEXT 5000\r\n" + strings.Repeat("*1\r\n$4\r\nNEXT\r\n", 500) + strings.Repeat("PING\r\n", 500)))
			if c.longest > limit+2*50 || c.writes < 5 {
				t.Errorf("%s, RESP%s: up to %d bytes at once, %d writes", name, version, c.longest, c.writes)
			}
			if tally := c.handler.Tally(); tally.IDs != 5500 || tally.Errors > 0 {
				t.Errorf("%s: tally %+v", name, tally)
			}
			checkReplies(t, c.out)
		}
	}
}

func TestClientsThatRoundAreSaidOnce(t *testing.T) {
	const above = 1<<53 + 1
	for _, c := range []struct {
		in    string
		first int64
		want  string
	}{
		{"CLIENT SETINFO LIB-NAME node-redis\r\nNEXT\r\nNEXT\r\nRUN 5\r\n", above, "node-redis"},
		{"client setinfo lib-name ioredis(bull)\r\nNEXT 10\r\n", above, "ioredis"},
		{"CLIENT SETINFO lib-name node-redis\r\nRUN 5\r\n", above, "node-redis"},
		{"CLIENT SETINFO lib-name node-redis\r\nRESET\r\nNEXT\r\n", above, "node-redis"},
		{"CLIENT SETINFO lib-name node-redis\r\nNEXT\r\n", 1 << 50, ""},
		{"CLIENT SETINFO lib-name node-redis\r\nFORM string\r\nNEXT\r\nNEXT 3 AS base62\r\nNEXT AS uuid\r\n", above, ""},
		{"CLIENT SETINFO lib-name redis-py\r\nNEXT\r\n", above, ""},
		{"CLIENT SETINFO lib-ver node-redis\r\nCLIENT SETNAME node-redis\r\nNEXT\r\n", above, ""},
	} {
		var said []string
		h := formed(t, &ticks{next: c.first}, func(config *resp.Config) {
			config.Rounds = func(s *resp.Session) { said = append(said, s.Library()) }
		})
		ask(h, c.in)
		if got := strings.Join(said, " "); got != c.want || int(h.Tally().Rounded) != len(said) {
			t.Errorf("%q: %q was said, want %q", c.in, got, c.want)
		}
	}
}

// Requests of the same bytes are taken together, and each of them is counted and answered.
func TestTheSameRequestsInARow(t *testing.T) {
	source := &ticks{next: 100}
	h := formed(t, source, nil)
	const one, other = "*3\r\n$4\r\nNEXT\r\n$2\r\nAS\r\n$6\r\nstring\r\n", "NEXT TENANT 0\r\n"
	out, _ := ask(h, strings.Repeat(one, 3)+strings.Repeat(other, 2)+one+"PING\r\n")
	if want := "$3\r\n100\r\n$3\r\n101\r\n$3\r\n102\r\n:103\r\n:104\r\n$3\r\n105\r\n+PONG\r\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if got, want := h.Tally(), (resp.Tally{Requests: 7, IDs: 6}); got != want || source.asked != 3 {
		t.Errorf("tally %+v, want %+v; the source was asked %d times", got, want, source.asked)
	}
}

func TestFormsAllocateNothing(t *testing.T) {
	for _, name := range form.Names() {
		for _, in := range []string{strings.Repeat("*1\r\n$4\r\nNEXT\r\n", 16), "*2\r\n$4\r\nNEXT\r\n$4\r\n1000\r\n", "*3\r\n$4\r\nNEXT\r\n$2\r\nAS\r\n$6\r\nbase62\r\n", "*2\r\n$3\r\nRUN\r\n$4\r\n5000\r\n", "*1\r\n$4\r\nPING\r\n"} {
			h := formed(t, &ticks{next: 1 << 60, each: 4096}, nil)
			out := make([]byte, 0, 256<<10)
			var s resp.Session
			h.Serve(&s, []byte("FORM "+name+"\r\n"), out)
			requests := []byte(in)
			if n := testing.AllocsPerRun(1000, func() {
				in := requests
				for {
					used, _, next := h.Serve(&s, in, out)
					if next.State == resp.Read {
						return
					}
					in = in[used:]
				}
			}); n != 0 {
				t.Errorf("%s, %.20q: %v allocations", name, in, n)
			}
		}
	}
}

// A connection that another process goes on with keeps its form, and the request that it is in the
// middle of. If that process does not know the cluster, a client that wants UUIDs is told, and gets
// no other IDs.
func TestAFormIsHandedOver(t *testing.T) {
	for _, c := range []struct{ in, later, want string }{
		{"FORM base62\r\nNEXT 3 AS string\r\n", "NEXT\r\n", "+OK\r\n*3\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$11\r\n00000000003\r\n"},
		{"NEXT 3 AS string\r\n", "NEXT\r\n", "*3\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n:3\r\n"},
	} {
		limit := func(config *resp.Config) { config.Limits.Output = 30 } // room for one or two IDs
		source := &ticks{}
		before, after := formed(t, source, limit), formed(t, source, limit)
		var s resp.Session
		used, out, next := before.Serve(&s, []byte(c.in), nil)
		for next.State == resp.Write && !s.Busy() {
			var n int
			n, out, next = before.Serve(&s, []byte(c.in)[used:], out)
			used += n
		}
		if !s.Busy() {
			t.Fatalf("%q is answered at once: %q", c.in, out)
		}
		saved := must.Get(json.Marshal(s.Save()))(t)
		var from resp.Saved
		must.Do(t, json.Unmarshal(saved, &from))
		on := client{handler: after, out: out, in: []byte(c.in)[used:]}
		on.session.Restore(from)
		on.send([]byte(c.later))
		if string(on.out) != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.in, on.out, c.want)
		}
	}
	var s resp.Session
	with, without := formed(t, &ticks{}, func(c *resp.Config) { c.Limits.Output = 30 }), handler(t, &ticks{}, "twitter", resp.Limits{})
	with.Serve(&s, []byte("FORM uuid\r\n"), nil)
	_, out, _ := with.Serve(&s, []byte("NEXT 2\r\n"), nil)
	on := client{handler: without, out: out}
	on.session.Restore(s.Save())
	on.send([]byte("NEXT\r\nFORM\r\n"))
	if lines := strings.Split(string(on.out), "\r\n"); lines[0] != "*2" || strings.Count(string(on.out), "the cluster's UUID") < 2 || !strings.HasSuffix(string(on.out), "$4\r\nuuid\r\n") {
		t.Errorf("without the cluster: %q", on.out)
	}
	checkReplies(t, on.out)
}

// While a daemon hands thousands of connections over, nobody issues: a session that has agreed on
// nothing costs few bytes, and no text of a refusal.
func TestAPlainSessionIsHandedOverForLittle(t *testing.T) {
	var s resp.Session
	saved := s.Save()
	if data, err := json.Marshal(saved); err != nil || len(data) > 120 {
		t.Errorf("%d bytes, %v: %s", len(data), err, data)
	}
	if n := testing.AllocsPerRun(100, func() { s.Restore(saved) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
