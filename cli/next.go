package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/internal/info"
)

// batch is how many IDs one request asks for, unless the daemon wants fewer. More
// would let the first lines wait; fewer would cost round trips.
const batch = 1000

// next is one run of the next command.
type next struct {
	client *client
	out    *bufio.Writer
	batch  int   // IDs that one request asks for
	tenant []any // the words of the request that name the tenant
}

func nextCommand(own paths) *urfave.Command {
	flags := newClientFlags(own)
	return withConfig(&urfave.Command{
		Name:      "next",
		Usage:     "print new IDs, one a line",
		ArgsUsage: "[count]",
		Flags: append(flags.flags(),
			&urfave.Uint64Flag{Name: "tenant", Usage: "tenant to take them for, in layouts with a tenant field"},
			&urfave.BoolFlag{Name: "run", Usage: "print runs, not IDs: first ID, how many, and the step between neighbours"},
		),
		Action: func(c *urfave.Context) error {
			count := 1
			if c.Args().Present() {
				var err error
				if count, err = strconv.Atoi(c.Args().First()); err != nil || count < 1 {
					return usagef("the count %q is not a whole number of 1 or more", c.Args().First())
				}
			}
			if c.NArg() > 1 {
				return usagef("next takes one count, but got %q too", c.Args().Get(1))
			}
			n := next{client: flags.open(c.Context), out: bufio.NewWriter(c.App.Writer), batch: batch}
			defer n.client.close()
			if c.IsSet("tenant") {
				n.tenant = []any{"TENANT", c.Uint64("tenant")}
			}
			take := n.ids
			if c.Bool("run") {
				take = n.runs
			}
			return n.all(c.Context, count, take)
		},
	})
}

// all takes count IDs in batches. Each batch is printed before the next one is
// asked for, so that an error loses none.
func (n *next) all(ctx context.Context, count int, take func(context.Context, int) (int, error)) error {
	for left := count; left > 0; {
		asked := min(left, n.batch)
		got, err := take(ctx, asked)
		if asked > 1 && tooMany(err) {
			n.batch = n.fewer(ctx, asked)
			continue
		}
		if flushErr := n.out.Flush(); err == nil && flushErr != nil {
			err = fmt.Errorf("writing IDs: %w", flushErr)
		}
		if err != nil {
			if left < count {
				return fmt.Errorf("after %d of %d IDs: %w", count-left, count, err)
			}
			return err
		}
		left -= got
	}
	return nil
}

// tooMany reports whether the daemon refused a request because of its count.
func tooMany(err error) bool {
	var refusal redis.Error
	return errors.As(err, &refusal) && strings.HasPrefix(refusal.Error(), "ERR the count ") &&
		strings.Contains(refusal.Error(), " is over the limit of ")
}

// fewer is how many IDs to ask for after asked were too many, at least 1: as many
// as the daemon says that it takes, or half as many.
func (n *next) fewer(ctx context.Context, asked int) int {
	if in, err := n.client.status(ctx); err == nil {
		text, _ := in.Get(info.MaxCount)
		if most, err := strconv.Atoi(text); err == nil && most >= 1 && most < asked {
			return most
		}
	}
	return asked / 2
}

// ids takes and prints n IDs.
func (n *next) ids(ctx context.Context, count int) (int, error) {
	numbers, err := n.numbers(ctx, "NEXT", count)
	if err != nil {
		return 0, err
	}
	for _, id := range numbers {
		n.line(id)
	}
	if len(numbers) == 0 {
		return 0, n.client.odd("NEXT", "an empty array")
	}
	return len(numbers), nil
}

// runs takes n IDs and prints the runs they come in.
func (n *next) runs(ctx context.Context, count int) (int, error) {
	numbers, err := n.numbers(ctx, "RUN", count)
	if err != nil {
		return 0, err
	}
	if len(numbers) < 3 || len(numbers)%2 == 0 {
		return 0, n.client.odd("RUN", numbers)
	}
	step, taken := numbers[0], 0
	for i := 1; i < len(numbers); i += 2 {
		first, length := numbers[i], numbers[i+1]
		if length < 1 {
			return 0, n.client.odd("RUN", numbers)
		}
		n.line(first, length, step)
		taken += int(length)
	}
	return taken, nil
}

func (n *next) numbers(ctx context.Context, command string, count int) ([]int64, error) {
	reply, err := n.client.ask(ctx, append([]any{command, count}, n.tenant...)...)
	if err != nil {
		return nil, err
	}
	array, ok := reply.([]any)
	if !ok {
		return nil, n.client.odd(command, reply)
	}
	numbers := make([]int64, 0, len(array))
	for _, element := range array {
		number, ok := element.(int64)
		if !ok {
			return nil, n.client.odd(command, element)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// line prints numbers on one line. An error shows at the flush.
func (n *next) line(numbers ...int64) {
	for i, number := range numbers {
		if i > 0 {
			_ = n.out.WriteByte(' ')
		}
		_, _ = io.WriteString(n.out, strconv.FormatInt(number, 10))
	}
	_ = n.out.WriteByte('\n')
}
