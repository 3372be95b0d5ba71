package main

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/internal/process"
)

var builtIn string

// program returns the path of the program that users have. It is built once.
var program = sync.OnceValues(func() (_ string, err error) {
	if builtIn, err = os.MkdirTemp("", "flakeward-program-"); err != nil {
		return "", err
	}
	return process.BuildNormal(context.Background(), builtIn)
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(builtIn)
	os.Exit(code)
}
