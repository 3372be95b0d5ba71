package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Project is one compose project.
type Project struct {
	Engine *Engine
	Name   string
	Files  []string          // absolute paths; each is laid over the ones before it
	Env    map[string]string // the variables of the files
}

// Up makes and starts the services, and those that they depend on. It returns when they have been
// started.
func (p *Project) Up(ctx context.Context, services ...string) error {
	command := append(slices.Clone(p.Engine.compose), "--project-name", p.Name)
	for _, f := range p.Files {
		command = append(command, "--file", f)
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, name+"="+p.Env[name])
	}
	_, err := p.Engine.run(ctx, env, append(append(command, "up", "--detach"), services...))
	return err
}

// Remove removes all containers, networks and volumes of the project, whatever state they are in.
// It does not need the project's files.
func (p *Project) Remove(ctx context.Context) error {
	return p.Engine.remove(ctx, "label="+projectLabel+"="+p.Name, func(name string) bool { return name == p.Name })
}

const projectLabel = "com.docker.compose.project"

// RemoveAll removes what is left of all projects whose names begin with prefix, which must not be
// empty.
func (e *Engine) RemoveAll(ctx context.Context, prefix string) error {
	if prefix == "" {
		return errors.New("all projects of this machine would be removed: give a prefix of their names")
	}
	return e.remove(ctx, "label="+projectLabel, func(name string) bool { return strings.HasPrefix(name, prefix) })
}

// remove removes what a filter finds and ours says yes to, containers first: they hold the rest.
func (e *Engine) remove(ctx context.Context, filter string, ours func(project string) bool) error {
	var errs []error
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "--all"}, []string{"rm", "--force", "--volumes"}},
		{[]string{"network", "ls"}, []string{"network", "rm"}},
		{[]string{"volume", "ls"}, []string{"volume", "rm", "--force"}},
	} {
		id := "{{.ID}}"
		if kind.list[0] == "volume" {
			id = "{{.Name}}"
		}
		list := append(slices.Clone(kind.list), "--filter", filter, "--format", id+` {{.Label "`+projectLabel+`"}}`)
		out, err := e.Docker(ctx, list...)
		if err != nil {
			errs = append(errs, fmt.Errorf("what is left cannot be listed: %w", err))
			continue
		}
		var ids []string
		for line := range strings.Lines(out) {
			if id, project, ok := strings.Cut(strings.TrimSpace(line), " "); ok && ours(project) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if _, err := e.Docker(ctx, append(kind.remove, ids...)...); err != nil {
			errs = append(errs, fmt.Errorf("what is left cannot be removed: %w", err))
		}
	}
	return errors.Join(errs...)
}
