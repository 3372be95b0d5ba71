//go:build unix && !linux

package systemd

import "errors"

// Start starts nothing: only Linux has systemd.
func (s *Service) Start(string, ...string) (*Started, error) {
	return nil, errors.ErrUnsupported
}
