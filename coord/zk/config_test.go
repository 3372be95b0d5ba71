package zk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/zk"
)

func TestImpossibleConfigurations(t *testing.T) {
	t.Parallel()
	some := []string{"127.0.0.1:1"}
	id := coord.Identity{Incarnation: "x"}
	for want, c := range map[string]struct {
		servers zk.Servers
		config  zk.Config
	}{
		"no server":     {zk.Servers{}, zk.Config{Identity: id}},
		"host:port":     {zk.Servers{Addresses: []string{"h1"}}, zk.Config{Identity: id}},
		"chroot":        {zk.Servers{Addresses: some, Chroot: "a//b"}, zk.Config{Identity: id}},
		"both":          {zk.Servers{Addresses: some, User: "u"}, zk.Config{Identity: id}},
		"colon":         {zk.Servers{Addresses: some, User: "u:v", Password: "secret"}, zk.Config{Identity: id}},
		"milliseconds":  {zk.Servers{Addresses: some}, zk.Config{Identity: id, Timeout: 1500 * time.Microsecond}},
		"from 1s to 1h": {zk.Servers{Addresses: some}, zk.Config{Identity: id, Timeout: 2 * time.Hour}},
		"positive":      {zk.Servers{Addresses: some}, zk.Config{Identity: id, TryTimeout: -1}},
		"incarnation":   {zk.Servers{Addresses: some}, zk.Config{}},
		"not 1 to 64":   {zk.Servers{Addresses: some}, zk.Config{Identity: coord.Identity{Incarnation: "a-b"}}},
		"127.0.0.1:1)":  {zk.Servers{Addresses: some}, zk.Config{Identity: coord.Identity{Incarnation: "a-b"}}},
	} {
		if _, err := zk.Dial(c.servers, c.config); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v; want an error with %q", err, want)
		}
	}
}
