package zk_test

import (
	"os"
	"testing"

	"github.com/flakeward/flakeward/coord/zk/zktest"
)

func TestMain(m *testing.M) { os.Exit(zktest.Main(m)) }
