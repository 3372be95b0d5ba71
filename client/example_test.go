package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/client"
)

func Example() {
	ids, err := client.Open(client.DefaultSocket, client.MaxAge(2*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ids.Close() //nolint:errcheck // is nil

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
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
}
