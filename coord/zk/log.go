package zk

import (
	"fmt"

	"github.com/hashicorp/go-hclog"
)

// bridge lets the library log to hclog. What it says is for debugging: what an
// operator should know is logged by the session, or is in the error of a call. The
// library logs addresses, session IDs and errors, and no user or password.
type bridge struct{ log hclog.Logger }

// Printf implements the library's Logger.
func (b bridge) Printf(format string, args ...any) {
	if b.log.IsDebug() {
		b.log.Debug(fmt.Sprintf("client library: "+format, args...))
	}
}
