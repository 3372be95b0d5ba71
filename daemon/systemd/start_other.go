//go:build unix && !linux

package systemd

import "errors"

// Start starts nothing: only Linux has systemd.
func (s *Service) Start(string, ...string) (<-chan struct{}, error) {
	return nil, errors.ErrUnsupported
}
