package daemon_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/internal/must"
)

// Who asked Leaf, tinyid or uid-generator gets IDs on the same paths, in the same form, each once.
func TestADaemonAnswersAsOtherServicesDo(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Compat, c.IDs.Layout = "leaf,tinyid,uid-generator", tenanted
	c.IDs.Tenants = []tenant.Tenant{{Name: "orders", ID: 3, Form: "base62"}}
	c.Admin.Address, c.Admin.IDs = "127.0.0.1:0", true
	d := daemontest.Start(t, c)
	web, overTCP := overSocket(t, d), at(t, address(t, d), &http.Transport{})
	seen := map[int64]bool{}
	for range 20 {
		for _, client := range []*http.Client{web, overTCP} {
			var ids []string
			for _, path := range []string{"/api/snowflake/get/orders", "/api/segment/get/orders", "/testGet", "/tinyid/id/nextIdSimple?bizType=orders&token=t&batchSize=3"} {
				reply := must.Get(client.Get("http://localhost" + path))(t)
				body, _ := io.ReadAll(reply.Body)
				_ = reply.Body.Close()
				ids = append(ids, strings.Split(string(body), ",")...)
			}
			_, body := get(t, web, "/tinyid/id/nextId?bizType=orders&token=t&batchSize=2")
			var got struct {
				Data    []int64
				Code    int
				Message *string
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Data) != 2 || got.Code != 200 || got.Message == nil || *got.Message != "" {
				t.Fatalf("%s (%v)", body, err)
			}
			for _, id := range append(ids, strconv.FormatInt(got.Data[0], 10), strconv.FormatInt(got.Data[1], 10)) {
				n, err := strconv.ParseInt(id, 10, 64)
				if err != nil || seen[n] {
					t.Fatalf("%q is no ID, or there twice (%v)", id, err)
				}
				seen[n] = true
			}
			if _, body := get(t, web, "/v1/ids/"+ids[0]); !strings.Contains(body, `"tenant":3,`) {
				t.Errorf("the key is no tenant: %s", body)
			}
			if _, body := get(t, web, "/decodeSnowflakeId?snowflakeId="+ids[0]); !strings.HasPrefix(body, `{"timestamp":"1`) {
				t.Errorf("taken apart: %s", body)
			}
			if _, body := get(t, web, "/testParse/"+ids[2]); !strings.HasPrefix(body, `{"UID":"`+ids[2]+`","timestamp":"2`) {
				t.Errorf("taken apart: %s", body)
			}
		}
	}
	if len(seen) != 320 {
		t.Errorf("%d IDs", len(seen))
	}
	redis := redis.NewClient(&redis.Options{Network: "unix", Addr: d.Config.Socket.Path})
	defer redis.Close() // it has nothing to lose
	list, err := redis.ClientList(t.Context()).Result()
	served := 0
	for _, of := range regexp.MustCompile(` served=(\d+) `).FindAllStringSubmatch(list, -1) {
		n, _ := strconv.Atoi(of[1])
		served += n
	}
	if err != nil || served != 200 { // the others came over TCP
		t.Errorf("CLIENT LIST: %q (%v)", list, err)
	}
	if curl, err := exec.LookPath("curl"); err == nil {
		out, err := exec.Command(curl, "--silent", "--unix-socket", d.Config.Socket.Path, "http://f/api/segment/get/none").Output()
		if err != nil || !strings.HasPrefix(string(out), "there is no tenant 'none': ") {
			t.Errorf("%q (%v)", out, err)
		}
	}
}

func TestAnAddressWithoutIDsHasNoneForOtherServices(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Compat, c.Admin.Address = "leaf,tinyid,uid-generator", "127.0.0.1:0"
	d := daemontest.Start(t, c)
	for path, want := range map[string]int{
		"/api/snowflake/get/a": 403, "/api/segment/get/a": 403, "/tinyid/id/nextId?bizType=a": 403, "/tinyid/id/nextIdSimple?bizType=a": 403, "/testGet": 403,
		"/decodeSnowflakeId?snowflakeId=1": 200, "/testParse/1": 200,
	} {
		reply := must.Get(http.Get("http://" + address(t, d) + path))(t)
		_ = reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("%s: %s", path, reply.Status)
		}
	}
}

func TestADaemonAnswersAsNoOtherServiceUnlessAsked(t *testing.T) {
	web := overSocket(t, daemontest.Start(t, daemontest.Config(t.TempDir())))
	for _, path := range []string{"/api/snowflake/get/a", "/tinyid/id/nextId?bizType=a", "/testGet"} {
		if reply, body := get(t, web, path); reply.StatusCode != 404 {
			t.Errorf("%s: %s %s", path, reply.Status, body)
		}
	}
	c := daemontest.Config(t.TempDir())
	c.Compat = "leaf,twitter"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), `--compat: there is no service "twitter"`) {
		t.Errorf("%v", err)
	}
}
