package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/wire"
)

// compiler is the name of the executable.
const compiler = "cc"

//go:embed floor/floor.c
var floorSource []byte

// floor answers every request with the same number: no server on the same socket does less.
var floor = peer{
	name:    "epoll in C",
	command: []string{"NEXT"},
	start: func(ctx context.Context, _ setting, dir string) (*process.Process, string, error) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, "", err
		}
		source, program, socket := filepath.Join(dir, "floor.c"), filepath.Join(dir, "floor"), filepath.Join(dir, "s")
		if err := os.WriteFile(source, floorSource, 0o600); err != nil {
			return nil, "", err
		}
		if out, err := exec.CommandContext(ctx, compiler, "-O2", "-Wall", "-Werror", "-o", program, source).CombinedOutput(); err != nil {
			return nil, "", fmt.Errorf("cannot compile floor.c: %w\n%s", err, out)
		}
		s, err := process.Start(ctx, process.Program{Command: []string{program, socket}})
		if err != nil {
			return nil, "", err
		}
		if err := await(ctx, s, socket, (*wire.Reader).Int, "NEXT"); err != nil {
			return nil, "", errors.Join(err, s.Kill())
		}
		return s, socket, nil
	},
}
