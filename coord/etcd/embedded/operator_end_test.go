package embedded

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/internal/sockettest"
)

// Who connects as the server ends is cut off and not waited for.
func TestOperatorConnectsAtTheEnd(t *testing.T) {
	dir := sockettest.Dir(t)
	s, err := Start(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the server is not what is tested
	for i := range 20 {
		if i > 0 {
			if s.asked, err = serveOperators(dir, s.server); err != nil {
				t.Fatal(err)
			}
		}
		conn, err := net.Dial("unix", filepath.Join(dir, socketName))
		if err != nil {
			t.Fatal(err)
		}
		s.asked.stop()
		for err == nil { // until the other end is closed
			_, err = conn.Read(make([]byte, 64))
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
