package embedded

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// Who connects as the server ends is cut off and not waited for.
func TestOperatorConnectsAtTheEnd(t *testing.T) {
	dir := sockettest.Dir(t)
	s := must.Get(Start(t.Context(), Config{Dir: dir}))(t)
	defer s.Close() // the server is not what is tested
	for i := range 20 {
		if i > 0 {
			s.asked = must.Get(serveOperators(dir, s.server))(t)
		}
		conn, err := net.Dial("unix", filepath.Join(dir, socketName))
		must.Do(t, err)
		s.asked.stop()
		for err == nil { // until the other end is closed
			_, err = conn.Read(make([]byte, 64))
		}
		must.Do(t, conn.Close())
	}
}
