package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A grant is one write of the coordinator's, and costs it some hundred bytes.
func TestOneWriteForEachGrant(t *testing.T) {
	for name := range backends {
		t.Run(name, func(t *testing.T) {
			l, err := measure(t.Context(), name, 20, options{publish: 50 * time.Millisecond, duration: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", l)
			if l.published < 20 || l.writes != l.published {
				t.Errorf("%d grants were %d writes", l.published, l.writes)
			}
			if l.logged < 100*l.writes || l.logged > 2000*l.writes {
				t.Errorf("%d writes logged %d bytes", l.writes, l.logged)
			}
			if l.sent < 100*l.writes || l.received < 20*l.writes {
				t.Errorf("%d writes took %d bytes to the server and %d from it", l.writes, l.sent, l.received)
			}
		})
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	print(&out, options{publish: 10 * time.Second, duration: time.Minute}, []line{
		{backend: "etcd", daemons: 1000, storm: 1500 * time.Millisecond, failed: 3, took: time.Minute, published: 5990, writes: 6060, logged: 606000, sent: 60000 * 7, received: 60000 * 9},
	})
	fields := strings.Join(strings.Fields(out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n"):]), " ")
	if want := "etcd 1000 1.5s 3 5990 6060 101.00 100.00 +1.0% 100 7.0 9.0"; fields != want {
		t.Errorf("%q, want %q", fields, want)
	}
}

func TestArguments(t *testing.T) {
	for _, args := range []string{"-daemons=0", "-daemons=1,x", "-publish=0s", "-for=-1s", "-only=redis"} {
		if err := run(t.Context(), []string{args}, io.Discard, io.Discard); err == nil {
			t.Errorf("%s was taken", args)
		}
	}
}

func TestUsed(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"a.log": append([]byte("abc\x00d"), make([]byte, 3<<20)...),
		"b.log": make([]byte, 100),
		"c.log": []byte("xy"),
		"d.txt": []byte("other"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := written(filepath.Join(dir, "*.log")); n != 7 || err != nil {
		t.Errorf("%d bytes, %v; want 7", n, err)
	}
}
