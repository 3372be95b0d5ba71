//go:build !linux

package pace

import (
	"context"
	"errors"
)

// Run needs Linux: its waiting is epoll_pwait2.
func Run(context.Context, Load) (Result, error) {
	return Result{}, errors.New("the open-loop load needs Linux")
}
