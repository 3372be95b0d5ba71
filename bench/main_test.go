package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/wire"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
	}{
		{"", names(sections)},
		{"memory", []string{"memory"}},
		{"lane,start", []string{"start", "lane"}}, // in the table's order
	} {
		got, err := choose(sections, c.list)
		if err != nil || !slices.Equal(names(got), c.want) {
			t.Errorf("-only %q chooses %v, %v; want %v", c.list, names(got), err, c.want)
		}
	}
	for _, list := range []string{"speed", "lane,", "lane speed"} {
		if got, err := choose(sections, list); err == nil || !strings.Contains(err.Error(), "socket") {
			t.Errorf("-only %q chooses %v with the error %v, which should name what there is", list, names(got), err)
		}
	}
}

func TestInstalledNamesThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct{ only, says string }{
		{"socket", "apt-get install redis-server"},
		{"lane", "apt-get install golang"},
	} {
		chosen, err := choose(sections, c.only)
		if err != nil {
			t.Fatal(err)
		}
		if err := installed(chosen); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the error is %v, which should say %q", c.only, err, c.says)
		}
	}
	chosen, err := choose(sections, "start,client,memory")
	if err != nil {
		t.Fatal(err)
	}
	if err := installed(chosen); err != nil {
		t.Errorf("what needs nothing more: %v", err)
	}
}

func TestTable(t *testing.T) {
	figures := []figure{
		figure{what: "a", got: "1.2"}.atLeast(1.2, 1.2, "1.2"),
		figure{what: "b", got: "1.2"}.atLeast(1.1999, 1.2, "1.2"),
		figure{what: "c", got: "3"}.atMost(3, 3, "3"),
		figure{what: "d", got: "3"}.atMost(3.001, 3, "3"),
		{what: "e", got: "could not be run"},
	}
	var out strings.Builder
	printTable(&out, []string{"machine"}, figures)
	var rows [][]string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Fields(line))
	}
	want := [][]string{
		{"machine"},
		{},
		{"what", "measured", "target", "more"},
		{"a", "1.2", ">=", "1.2", "met"},
		{"b", "1.2", ">=", "1.2", "NOT", "MET"},
		{"c", "3", "<=", "3", "met"},
		{"d", "3", "<=", "3", "NOT", "MET"},
		{"e", "could", "not", "be", "run"},
		{},
		{"2", "NOT", "MET"},
	}
	if !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("the table is\n%s", out.String())
	}
}

func TestThousands(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", -100: "-100", -1234567: "-1,234,567", 4096000.4: "4,096,000"} {
		if got := thousands(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

// The client counts the IDs of whole replies, keeps as many requests under way as it is told, and says when it has the first ones.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		name    string
		order   order
		request string
		reply   string
		want    []pulled // without times
	}{
		{"runs", order{run: true, count: 7, window: 2, length: 1}, "RUN 7", "*5\r\n:1\r\n:100\r\n:5\r\n:300\r\n:2\r\n", []pulled{{IDs: 7}, {IDs: 7}}},
		{"IDs", order{count: 3, window: 2, length: 1}, "NEXT 3", "*3\r\n:9\r\n:8\r\n:7\r\n", []pulled{{IDs: 3}, {IDs: 3}}},
		{"refused", order{count: 3, window: 2, length: 1}, "NEXT 3", "-UNAVAILABLE no\r\n", []pulled{{Refused: 1}}},
		{"ended within a reply", order{count: 3, window: 2, length: time.Hour}, "NEXT 3", "*3\r\n:9\r\n", []pulled{{}}},
	} {
		client, daemon := net.Pipe()
		// Ends a test that goes wrong; one that goes right never waits for it.
		if err := daemon.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(c.request)
		want := slices.Repeat(wire.AppendCommand(nil, words...), c.order.window)
		asked := make(chan []byte, 1)
		go func() {
			got := make([]byte, len(want))
			n, _ := io.ReadFull(daemon, got)
			asked <- got[:n]
			_, _ = io.WriteString(daemon, c.reply)
			_ = daemon.Close()
		}()
		var out bytes.Buffer
		if err := c.order.follow(client, json.NewEncoder(&out)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_ = client.Close()
		if got := <-asked; !bytes.Equal(got, want) {
			t.Errorf("%s: asked %q, want %q", c.name, got, want)
		}
		var got []pulled
		for in := json.NewDecoder(&out); in.More(); {
			var p pulled
			if err := in.Decode(&p); err != nil {
				t.Fatal(err)
			}
			p.Took = 0
			got = append(got, p)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: reports %+v, want %+v", c.name, got, c.want)
		}
	}
}
