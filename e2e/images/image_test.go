// Package images has what the images of the tests are built from, and looks at the image that
// ships.
package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// files are the headers of the files in an archive, and the contents of one.
func files(t *testing.T, archive []byte, name string) (headers map[string]*tar.Header, contents []byte) {
	t.Helper()
	headers = map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		must.Do(t, err)
		headers[filepath.Clean(h.Name)] = h
		if h.Name == name {
			contents = must.Get(io.ReadAll(r))(t)
		}
	}
}

// The image's user may write in its own directories, and nobody in others.
func TestTheDirectoriesOfTheImage(t *testing.T) {
	dir := t.TempDir()
	program, out := filepath.Join(dir, "flakeward"), filepath.Join(dir, "image.tar")
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	image := exec.CommandContext(t.Context(), "scripts/image", program, "amd64", "flakeward:test", out)
	image.Dir, image.Env = filepath.Join("..", ".."), append(os.Environ(), "SOURCE_DATE_EPOCH=1")
	if said, err := image.CombinedOutput(); err != nil {
		t.Fatalf("scripts/image: %v\n%s", err, said)
	}
	_, layer := files(t, must.Get(os.ReadFile(out))(t), "layer.tar")
	found, _ := files(t, layer, "")
	for name, want := range map[string]struct {
		mode int64
		user int
	}{
		"run/flakeward": {0o755, 65532}, "var/lib/flakeward": {0o700, 65532}, "volumes/1": {0o700, 65532}, "flakeward": {0o755, 0},
	} {
		switch h := found[name]; {
		case h == nil:
			t.Errorf("the image has no /%s", name)
		case h.Mode != want.mode || h.Uid != want.user:
			t.Errorf("/%s has mode %o and the owner %d, want %o and %d", name, h.Mode, h.Uid, want.mode, want.user)
		}
	}
}
