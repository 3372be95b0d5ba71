package process

import "syscall"

// Orphanless has a child killed when the process that started it is gone, however it went.
func Orphanless() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
