//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/compose"
	"github.com/flakeward/flakeward/e2e/report"
)

// suite is all drills on one coordinator, one after the other. The members are started with the
// first.
type suite struct {
	*session
	coordinator string
	title       string // in the report
	dir         string
	members     *Members
	started     bool
	drills      []report.Drill
}

// session is what the suites share.
type session struct {
	engine *compose.Engine
	image  string // of the daemons
	gate   *gate
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

var coordinators = []struct{ name, title string }{{"etcd", "etcd"}, {"zookeeper", "ZooKeeper"}, {onDirectory, "directory"}}

func newSuite(s *session, name, title string) *suite {
	return &suite{session: s, coordinator: name, title: title, dir: filepath.Join(s.runs, name)}
}

func (s *session) file(name ...string) string {
	return filepath.Join(append([]string{s.root}, name...)...)
}

// own makes a directory of the containers' user, who may be another than this process's.
func (s *session) own(path string, mode os.FileMode) error {
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, containerUser, containerUser); err != nil {
			return err
		}
	}
	return os.Chmod(path, mode)
}

// containerUser is the user of the images, where this process may give files away.
const containerUser = 65532

// start starts the coordinator's members, once.
func (s *suite) start(ctx context.Context) error {
	if s.started {
		return nil
	}
	m := &Members{
		dir:  filepath.Join(s.dir, "members"),
		cuts: map[string]*cut{},
		ends: map[string]func(){},
		project: &compose.Project{
			Engine: s.engine, Name: s.prefix + s.coordinator,
		},
	}
	if s.coordinator == onDirectory {
		m.backend, s.members, s.started = &directory{m}, m, true
		return nil
	}
	if err := s.need(ctx, "flakeward-"+s.coordinator+":local"); err != nil {
		return err
	}
	file := "compose.yaml"
	if s.coordinator == "etcd" {
		m.backend = &etcd{m}
	} else {
		m.backend = &zookeeper{m}
		file = "compose.zookeeper.yaml"
	}
	m.project.Files = []string{s.file("deploy", file), s.file("e2e", "compose."+s.coordinator+".yaml")}
	m.project.Env = map[string]string{"DRILL_PROJECT": m.project.Name, "DRILL_USER": s.user, "DRILL_DIR": m.dir}
	for i := range memberCount {
		name := s.coordinator + "-" + strconv.Itoa(i+1)
		m.names = append(m.names, name)
		m.cuts[name] = &cut{engine: s.engine, container: m.container(name), note: func(kind string) func() { return m.r.fault(kind, name) }}
		if err := s.own(filepath.Join(m.dir, name), 0o700); err != nil {
			return fmt.Errorf("the members' data: %w", err)
		}
	}
	s.members = m
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := m.project.Up(ctx, m.names...); err != nil {
		return err
	}
	if err := m.await(ctx, memberCount); err != nil {
		return fmt.Errorf("%w\n%s", err, m.tails(context.WithoutCancel(ctx)))
	}
	s.started = true
	return nil
}

// tails are the ends of the members' logs.
func (m *Members) tails(ctx context.Context) string {
	all := ""
	for _, name := range m.names {
		text, err := m.project.Engine.Logs(ctx, m.container(name))
		if err != nil {
			text += err.Error()
		}
		all += "== " + name + "\n" + ending(text) + "\n"
	}
	return all
}

// ending is the last lines of a log.
func ending(text string) string {
	const most = 1500
	if len(text) > most {
		text = "..." + text[len(text)-most:]
	}
	return text
}

// stop keeps the members' logs and removes them.
func (s *suite) stop(ctx context.Context) error {
	if s.members == nil {
		return nil
	}
	var errs []error
	for _, name := range s.members.names {
		text, err := s.engine.Logs(ctx, s.members.container(name))
		errs = append(errs, err, os.WriteFile(filepath.Join(s.members.dir, name+".log"), []byte(text), 0o644))
	}
	return errors.Join(append(errs, s.members.project.Remove(ctx))...)
}

// drill runs one drill as a test.
func (s *suite) drill(ctx context.Context, t *testing.T, d Drill) {
	result := report.Drill{Name: d.Name, Coordinator: s.title, What: d.What}
	begun := time.Now()
	if err := s.start(ctx); err != nil {
		result.Failed = fmt.Sprintf("the coordinator does not start: %v", err)
	} else {
		s.run(ctx, d, &result, t.Logf)
	}
	result.Took = time.Since(begun)
	if result.Failed != "" {
		t.Errorf("%s", result.Failed)
	}
	for _, example := range result.Examples {
		t.Errorf("VIOLATION %s", example)
	}
	if result.Violations > 0 {
		t.Errorf("%d violations", result.Violations)
	}
	s.drills = append(s.drills, result)
	path := filepath.Join(s.dir, d.Name, report.FileName)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Error(err)
	}
	if err := report.Save(path, result); err != nil {
		t.Errorf("the drill's record is not kept: %v", err)
	}
}
