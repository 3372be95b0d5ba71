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

	"github.com/flakeward/flakeward/bench/redisbench"
	"github.com/flakeward/flakeward/internal/wire"
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

func TestMissingNamesThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct{ program, says string }{
		{redisbench.Server, "apt-get install redis-server"},
		{redisbench.Program, "apt-get install redis-tools"},
		{"go", "apt-get install golang"},
	} {
		if got := (section{needs: []string{c.program}}).missing(); len(got) != 1 || !strings.Contains(got[0], c.says) {
			t.Errorf("%s: says %q, which should say %q", c.program, got, c.says)
		}
	}
	if got := (section{}).missing(); len(got) > 0 {
		t.Errorf("what needs nothing more: %q", got)
	}
}

// The client counts the IDs of whole replies, keeps as many requests under way as it is told, and
// says when it has the first ones.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		name    string
		order   order
		request string
		reply   string
		want    []pulled // without times
	}{
		{"runs", order{Run: true, Count: 7, Window: 2, Length: 1}, "RUN 7", "*5\r\n:1\r\n:100\r\n:5\r\n:300\r\n:2\r\n", []pulled{{IDs: 7}, {IDs: 7}}},
		{"IDs", order{Count: 3, Window: 2, Length: 1}, "NEXT 3", "*3\r\n:9\r\n:8\r\n:7\r\n", []pulled{{IDs: 3}, {IDs: 3}}},
		{"refused", order{Count: 3, Window: 2, Length: 1}, "NEXT 3", "-UNAVAILABLE no\r\n", []pulled{{Refused: 1}}},
		{"ended within a reply", order{Count: 3, Window: 2, Length: time.Hour}, "NEXT 3", "*3\r\n:9\r\n", []pulled{{}}},
	} {
		client, daemon := net.Pipe()
		// Ends a test that goes wrong; one that goes right never waits for it.
		if err := daemon.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(c.request)
		want := slices.Repeat(wire.AppendCommand(nil, words...), c.order.Window)
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
