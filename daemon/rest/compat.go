package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// services are other ID services by their names, with those of their paths that can be served here.
// Parameters that a service does not know, it ignores.
var services = map[string]map[string]*route{
	"leaf": {
		"/api/segment/get/":   {name: "leaf-segment", serve: leafSegment, fail: failLeaf, anything: true, issues: true},
		"/api/snowflake/get/": {name: "leaf-snowflake", serve: leafSnowflake, fail: failLeaf, anything: true, issues: true},
		"/decodeSnowflakeId":  {name: "leaf-decode", serve: leafDecode, fail: failLeafDecode, anything: true},
	},
	"tinyid": {
		"/tinyid/id/nextId":       {name: "tinyid", serve: tinyID, fail: failTinyID, anything: true, issues: true},
		"/tinyid/id/nextIdSimple": {name: "tinyid-simple", serve: tinyIDSimple, fail: failTinyIDSimple, anything: true, issues: true},
	},
	"uid-generator": {
		"/testGet":    {name: "uid-generator", serve: uidGenerator, fail: failUIDGenerator, anything: true, issues: true},
		"/testParse/": {name: "uid-generator-decode", serve: uidGeneratorDecode, fail: failUIDGenerator, anything: true},
	},
}

// Compat reads the names of services, with commas between them, for Config. Empty text has none.
func Compat(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if services[names[i]] == nil {
			return nil, fmt.Errorf("there is no service %q: write one or several of %s, with commas between", names[i], strings.Join(slices.Sorted(maps.Keys(services)), ", "))
		}
	}
	return names, nil
}

// The types of these services' replies: they are written with Spring.
var (
	springJSON = []string{"application/json;charset=UTF-8"}
	springText = []string{"text/plain;charset=UTF-8"}
)

// last is the last part of the path: what the path's name ends before.
func (q *request) last() string {
	return q.r.URL.Path[strings.LastIndexByte(q.r.URL.Path, '/')+1:]
}

// tagged is the tenant that a service's key stands for. Where no tenant has a name, all keys stand
// for the same one.
func (q *request) tagged(key string) (uint32, *resp.Refusal) {
	if len(q.s.config.Tenants.All()) == 0 {
		return 0, nil
	}
	return resp.Tenant(q.s.config.Tenants, q.s.config.Layout.Max(generator.Tenant), []byte(key))
}

// numbers replies with new IDs as numbers, a comma between them. No count needs no ID.
func (q *request) numbers(kind []string, tenant uint32, count int, before, behind string) {
	if q.r.Method == http.MethodHead { // which must not have an effect
		q.head(kind)
		return
	}
	runs, err := q.client.runs[:0], error(nil)
	if count > 0 {
		runs, err = q.s.config.Take.Take(q.r.Context(), &q.client.issue, tenant, count, form.Integer, runs)
	}
	if err != nil {
		q.refused(err, tenant)
		return
	}
	out := append(q.client.room[:0], before...)
	out = q.s.appendEach(out, form.Integer, runs, "", ",")
	if count > 0 {
		out = out[:len(out)-1]
	}
	q.head(kind)
	q.send(append(out, behind...), runs)
	q.served(count)
}

// leafSegment is GET /api/segment/get/{key}.
func leafSegment(_ *Server, q *request) {
	if q.last() == "" {
		q.refuse(resp.Refuse(resp.UnknownPath, resp.Shown(q.r.URL.Path)))
		return
	}
	tenant, refusal := q.tagged(q.last())
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	q.numbers(springText, tenant, 1, "", "")
}

// leafSnowflake is GET /api/snowflake/get/{key}. Leaf ignores the key there.
func leafSnowflake(s *Server, q *request) {
	tenant, _ := s.config.Tenants.Find([]byte(q.last()))
	q.numbers(springText, tenant, 1, "", "")
}

// leafDecode is GET /decodeSnowflakeId.
func leafDecode(s *Server, q *request) {
	_, parts, refusal := s.config.decode(q.params.Get("snowflakeId"), form.Integer.String())
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	at := s.config.Layout.StartOf(parts.Tick).UTC()
	q.object(http.StatusOK, springJSON, struct {
		Timestamp string `json:"timestamp"`
		Sequence  string `json:"sequenceId"`
		Worker    string `json:"workerId"`
	}{fmt.Sprintf("%d(%s)", at.UnixMilli(), at.Format("2006-01-02 15:04:05.000")), strconv.FormatUint(parts.Sequence, 10), s.config.worker(parts)})
}

// worker is what tells issuers apart, as one number: the datacenter's bits are above the worker's.
func (c *Config) worker(parts generator.Parts) string {
	return strconv.FormatUint(parts.Datacenter<<c.Layout.Bits(generator.Worker)|parts.Worker, 10)
}

// tinyID is GET /tinyid/id/nextId.
func tinyID(_ *Server, q *request) { q.batch(springJSON, `{"data":[`, `],"code":200,"message":""}`) }

// tinyIDSimple is GET /tinyid/id/nextIdSimple.
func tinyIDSimple(_ *Server, q *request) { q.batch(springText, "", "") }

// batch replies with as many IDs as tinyid would: one where it is not said, not more than the limit,
// and none below one.
func (q *request) batch(kind []string, before, behind string) {
	count := 1
	if text := q.params.Get("batchSize"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			q.refuse(resp.Refuse(resp.WrongParameter, "batchSize", "it is not a whole number below 2^31"))
			return
		}
		count = max(0, min(int(n), q.s.config.MaxCount))
	}
	if q.params.Get("bizType") == "" {
		q.refuse(resp.Refuse(resp.UnknownTenant, "", "give its name as bizType"))
		return
	}
	tenant, refusal := q.tagged(q.params.Get("bizType"))
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	q.numbers(kind, tenant, count, before, behind)
}

// uidGenerator is GET /testGet.
func uidGenerator(_ *Server, q *request) { q.numbers(springJSON, 0, 1, "", "") }

// uidGeneratorDecode is GET /testParse/{uid}.
func uidGeneratorDecode(s *Server, q *request) {
	id, parts, refusal := s.config.decode(q.last(), form.Integer.String())
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	q.object(http.StatusOK, springText, struct {
		ID       string `json:"UID"`
		Time     string `json:"timestamp"`
		Worker   string `json:"workerId"`
		Sequence string `json:"sequence"`
	}{strconv.FormatInt(id, 10), s.config.Layout.StartOf(parts.Tick).UTC().Format(time.DateTime), s.config.worker(parts), strconv.FormatUint(parts.Sequence, 10)})
}

// object replies with a value as JSON.
func (q *request) object(status int, kind []string, value any) {
	text, _ := json.Marshal(value)
	q.text(status, kind, text)
}

func (q *request) text(status int, kind []string, text []byte) {
	q.head(kind)
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		_, _ = q.w.Write(text)
	}
}

// failSpring replies with a problem as Spring does.
func failSpring(q *request, p Problem) {
	q.object(p.Status, springJSON, struct {
		Time    string `json:"timestamp"`
		Status  int    `json:"status"`
		Error   string `json:"error"`
		Message string `json:"message"`
		Path    string `json:"path"`
	}{time.Unix(0, q.s.config.Clock.Now().Wall).UTC().Format("2006-01-02T15:04:05.000-07:00"), p.Status, http.StatusText(p.Status), p.Detail, resp.Shown(q.r.URL.Path)})
}

// ofSpring reports whether a problem is one that the service itself would not see: its framework, or
// what stands before it, replies.
func (p Problem) ofSpring() bool {
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed:
		return true
	}
	return p.Code == "wrong-parameter"
}

// failLeaf replies with a problem as Leaf does: all have status 500.
func failLeaf(q *request, p Problem) {
	if p.ofSpring() {
		failSpring(q, p)
		return
	}
	q.text(http.StatusInternalServerError, springText, []byte(p.Detail))
}

// failLeafDecode replies why an ID cannot be taken apart.
func failLeafDecode(q *request, p Problem) {
	if p.ofSpring() {
		failSpring(q, p)
		return
	}
	q.object(http.StatusOK, springJSON, map[string]string{"errorMsg": p.Detail})
}

// The codes of tinyid's problems.
const (
	tinyIDToken  = 5 // the token is not for this bizType
	tinyIDSystem = 6
)

// failTinyID replies with a problem as tinyid does: with status 200, and a code of its own.
func failTinyID(q *request, p Problem) {
	if p.ofSpring() {
		failSpring(q, p)
		return
	}
	code := tinyIDSystem
	if p.Code == "unknown-tenant" || p.Code == "bad-tenant" {
		code = tinyIDToken
	}
	q.object(http.StatusOK, springJSON, struct {
		Data    []int64 `json:"data"`
		Code    int     `json:"code"`
		Message string  `json:"message"`
	}{nil, code, p.Detail})
}

// failTinyIDSimple replies with nothing, as tinyid does.
func failTinyIDSimple(q *request, p Problem) {
	if p.ofSpring() {
		failSpring(q, p)
		return
	}
	q.text(http.StatusOK, springText, nil)
}

// failUIDGenerator replies with a problem as uid-generator's server does.
func failUIDGenerator(q *request, p Problem) {
	if !p.ofSpring() && p.Code != "bad-id" && p.Code != "wrong-id" {
		p.Status = http.StatusInternalServerError
	}
	failSpring(q, p)
}
