package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/client"
)

// examples is the cluster of the daemon that the examples ask.
const examples = "0b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b10"

// exampleDaemon answers on a Unix socket with IDs from 1000 on, until stop is called.
func exampleDaemon() (socket string, stop func()) {
	dir, err := os.MkdirTemp("", "flakeward")
	if err != nil {
		panic(err)
	}
	socket = filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	f := &fake{max: 65536, step: 1, pairs: 1, drawn: map[int64]time.Time{}, next: 1000, uuid: examples}
	f.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f.serving.Go(func() { f.serve(conn) })
		}
	})
	return socket, func() {
		_ = l.Close()
		f.serving.Wait()
		_ = os.RemoveAll(dir)
	}
}

func Example() {
	socket, stop := exampleDaemon()
	defer stop()

	ids, err := client.Open(socket, client.MaxAge(2*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ids.Close() // is nil

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	id, err := ids.Next(ctx)
	var unavailable *client.UnavailableError
	switch {
	case errors.As(err, &unavailable):
		fmt.Println("try again later:", unavailable.Reason)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(id)
	}
	// Output:
	// 1000
}

func ExampleClient_Take() {
	socket, stop := exampleDaemon()
	defer stop()
	ids, err := client.Open(socket)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ids.Close() // is nil

	runs, err := ids.Take(context.Background(), 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range runs {
		for id := range run.IDs() {
			fmt.Println(id)
		}
	}
	// Output:
	// 1000
	// 1001
	// 1002
}

// Texts for a database or for JSON: they sort like the IDs.
func ExampleClient_As() {
	socket, stop := exampleDaemon()
	defer stop()
	ids, err := client.Open(socket)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ids.Close() // is nil

	texts, err := ids.As(client.Base62).Take(context.Background(), 3)
	fmt.Println(texts, err)
	// Output:
	// [000000000G8 000000000G9 000000000GA] <nil>
}

// A daemon that was started without its coordinator is in a cluster of its own.
func ExampleCluster() {
	socket, stop := exampleDaemon()
	defer stop()
	ids, err := client.Open(socket, client.Cluster("ffffffff-6c1c-4b5e-9d1e-6f4f2a7c9b10"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ids.Close() // is nil

	_, err = ids.Next(context.Background())
	var other *client.ClusterError
	fmt.Println(errors.As(err, &other) && other.Found == examples)
	// Output:
	// true
}
