package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner is the thread that starts what must not end before this process. The kernel kills a child
// when the thread that started it is gone, not the process, and Go ends threads as it likes; this
// one lasts as long as the process does.
var spawner = sync.OnceValue(func() chan<- func() {
	todo := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range todo {
			f()
		}
	}()
	return todo
})

// Spawn starts a child that is killed when this process is gone, and not before.
func Spawn(command *exec.Cmd) error {
	command.SysProcAttr = Orphanless()
	err := make(chan error)
	spawner() <- func() { err <- command.Start() }
	return <-err
}
