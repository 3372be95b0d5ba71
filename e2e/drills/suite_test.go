//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/compose"
)

// suite is all drills on one coordinator, one after the other. The members are started with the
// first.
type suite struct {
	*session
	coordinator string
	dir         string
	members     *Members
	started     bool
	drills      []Record
}

// session is what the suites share.
type session struct {
	engine *compose.Engine
	image  string // of the daemons
	gate   *sync.RWMutex
	root   string // of the checkout
	runs   string // all evidence
	prefix string // of projects' names
	user   string // uid:gid that all containers run as
	long   bool
	seed   int64
	lock   *os.File
}

// What is not worth a drill's time to wait for longer.
const (
	startTimeout = 2 * time.Minute // members
	serveTimeout = 2 * time.Minute // the daemons of a drill
	endTimeout   = 2 * time.Minute // teardown
)

var coordinators = []string{"etcd", "zookeeper", onDirectory}

func (s *session) file(name ...string) string {
	return filepath.Join(append([]string{s.root}, name...)...)
}

// own makes a directory of the containers' user, who may be another than this process's.
func (s *session) own(path string, mode os.FileMode) {
	must(os.MkdirAll(path, mode))
	if os.Getuid() == 0 {
		must(os.Chown(path, containerUser, containerUser))
	}
	must(os.Chmod(path, mode))
}

// containerUser is the user of the images, where this process may give files away.
const containerUser = 65532

// start starts the coordinator's members, once.
func (s *suite) start(ctx context.Context) {
	if s.started {
		return
	}
	m := &Members{backend: backends[s.coordinator], dir: filepath.Join(s.dir, "members"), project: &compose.Project{Engine: s.engine, Name: s.prefix + s.coordinator}}
	s.members = m
	if s.coordinator != onDirectory {
		must(s.need(ctx, "flakeward-"+s.coordinator+":local"))
		m.project.Files = []string{s.file("deploy", m.file), s.file("e2e", "compose."+s.coordinator+".yaml")}
		m.project.Env = map[string]string{"DRILL_PROJECT": m.project.Name, "DRILL_USER": s.user, "DRILL_DIR": m.dir}
		var names []string
		for i := range memberCount {
			name := s.coordinator + "-" + strconv.Itoa(i+1)
			names = append(names, name)
			m.all = append(m.all, &box{Name: name, engine: s.engine, container: m.project.Name + "-" + name, fault: func(name, kind string) { m.r.Fault(name, kind) }})
			s.own(filepath.Join(m.dir, name), 0o700)
		}
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		must(m.project.Up(ctx, names...))
		m.await(ctx, memberCount)
	}
	s.started = true
}

// stop keeps the members' logs and removes them.
func (s *suite) stop(ctx context.Context) error {
	if s.members == nil {
		return nil
	}
	return errors.Join(s.members.logs(ctx), s.members.project.Remove(ctx))
}

// drill runs one drill as a test.
func (s *suite) drill(ctx context.Context, t *testing.T, d Drill) {
	result := s.run(ctx, d, t.Logf)
	if result.Failed != "" {
		t.Error(result.Failed)
	}
	for _, example := range result.Examples {
		t.Error("VIOLATION " + example)
	}
	if result.Violations > 0 {
		t.Error(fmt.Sprint(result.Violations, " violations"))
	}
	s.drills = append(s.drills, *result)
	if err := result.save(filepath.Join(s.dir, d.Name)); err != nil {
		t.Errorf("the drill's record is not kept: %v", err)
	}
}
