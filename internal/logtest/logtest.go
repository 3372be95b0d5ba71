// Package logtest is a log for tests to read while it is written.
package logtest

import (
	"bytes"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Buffer keeps what is logged. The zero value is empty and ready; it is safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns all that was logged.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// At returns a logger into the buffer that takes the level and those above it.
func (b *Buffer) At(level hclog.Level) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Output: b, Level: level})
}
