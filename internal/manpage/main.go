//go:build !urfave_cli_no_docs

// Command manpage prints the manual page of flakeward, which is made of the commands themselves.
package main

import (
	"context"
	"io"

	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/internal/tool"
)

func main() {
	tool.Main("manpage", func(_ context.Context, _ []string, stdout, _ io.Writer) error {
		page, err := cli.Man()
		if err == nil {
			_, err = io.WriteString(stdout, page)
		}
		return err
	})
}
