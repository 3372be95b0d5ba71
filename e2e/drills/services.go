//go:build e2e

package drills

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/internal/fault"
)

// project is a compose file.
type project struct {
	Services map[string]service `json:"services"`
	Networks map[string]network `json:"networks"`
	Volumes  map[string]volume  `json:"volumes,omitempty"`
}

type service struct {
	Extends     template          `json:"extends"`
	Container   string            `json:"container_name"`
	Hostname    string            `json:"hostname,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Volumes     []string          `json:"volumes"`
}

// template is a service of another file.
type template struct {
	File    string `json:"file"`
	Service string `json:"service"`
}

type network struct {
	External bool   `json:"external,omitempty"`
	Name     string `json:"name,omitempty"`
}

type volume struct {
	Driver  string            `json:"driver"`
	Options map[string]string `json:"driver_opts"`
}

// describe writes the compose file of a run's hosts: each has the services of compose.hosts.yaml, with
// names and volumes of its own.
func (s *suite) describe(r *Run) error {
	hosts := s.file("e2e", "compose.hosts.yaml")
	all := project{
		Services: map[string]service{}, Volumes: map[string]volume{},
		Networks: map[string]network{"default": {true, s.members.project.Name + "_default"}},
	}
	if s.coordinator == onDirectory {
		all.Networks["default"] = network{}
	}
	for _, h := range r.Hosts {
		number := strconv.Itoa(h.Index + 1)
		socket := h.socketDir + ":/run/flakeward"
		client := []string{socket, h.dir + "/client:/out"}
		daemon := []string{socket}
		environment := map[string]string{}
		if s.coordinator == onDirectory {
			at := filepath.Join(r.Dir, "coordinator")
			if r.options.Small {
				at = "small"
				all.Volumes[at] = small(s.user)
				client = append(client, at+":"+smallMount)
			}
			environment[fault.Records] = "/records/all"
			daemon = append(daemon, at+":/coordinator", filepath.Join(r.Dir, "records")+":/records")
		}
		all.Services["daemon-"+number] = service{
			Extends: template{hosts, "daemon"}, Container: h.daemon, Hostname: h.Name,
			Environment: environment,
			Volumes:     append(daemon, h.dir+"/clock:/clock:ro", h.dir+"/daemon:/evidence"),
		}
		all.Services["client-"+number] = service{Extends: template{hosts, "client"}, Container: h.client, Volumes: client}
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.project.Files[0], b, 0o644)
}

// smallMount is where each client has the small file system of the directory: so it stays when the
// daemons are gone.
const smallMount = "/small"

// small is a file system of SmallBytes that belongs to the daemons' user.
func small(user string) volume {
	uid, _, _ := strings.Cut(user, ":")
	return volume{"local", map[string]string{"type": "tmpfs", "device": "tmpfs", "o": fmt.Sprintf("size=%d,mode=0700,uid=%s", SmallBytes, uid)}}
}
