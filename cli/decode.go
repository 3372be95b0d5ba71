package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	urfave "github.com/urfave/cli/v2"
)

func decodeCommand(own paths) *urfave.Command {
	flags := newLayoutFlags(own)
	return withConfig(&urfave.Command{
		Name:        "decode",
		Usage:       "decode IDs: time, worker, sequence number, other forms",
		ArgsUsage:   "ID... (or -, to read them from standard input)",
		Description: formSource + "\n" + layoutSource,
		Flags:       append(flags.flags(), asFlag("read the IDs in this `FORM`"), jsonFlag("print one JSON object per line")),
		Action: func(c *urfave.Context) error {
			if !c.Args().Present() {
				return usagef("decode needs at least one ID, or - to read them from standard input")
			}
			ids, err := flags.ids(c)
			if err != nil {
				return err
			}
			out := bufio.NewWriter(c.App.Writer)
			d := decoder{ids: ids, table: newIDTable(ids.layout), out: out, complain: c.App.ErrWriter, json: c.Bool(jsonName)}
			d.table.coder = ids.coder
			for _, word := range c.Args().Slice() {
				if word != "-" {
					d.decode(word, "")
				} else if err := d.decodeAll(c.App.Reader); err != nil {
					return errors.Join(err, out.Flush())
				}
			}
			if err := out.Flush(); err != nil {
				return fmt.Errorf("writing what was decoded: %w", err)
			}
			if !d.json { // its objects say so themselves
				d.rounded.say(c.App.ErrWriter)
			}
			return d.verdict()
		},
	})
}

// decoder decodes IDs one by one. One that is wrong is complained about and does
// not keep the others from being decoded.
type decoder struct {
	ids         *ids
	table       idTable
	out         *bufio.Writer
	complain    io.Writer
	json        bool
	good, wrong int
	rounded     roundings
}

// maxWord bounds a word of standard input, in bytes. IDs have 19 digits at most.
const maxWord = 4096

// decodeAll decodes all words of a stream.
func (d *decoder) decodeAll(in io.Reader) error {
	return eachWord(in, func(n int, word string) error {
		d.decode(word, fmt.Sprintf("word %d of standard input: ", n))
		return nil
	})
}

// eachWord hands on the words of standard input with their numbers, from 1.
func eachWord(in io.Reader, take func(n int, word string) error) error {
	words := bufio.NewScanner(in)
	words.Buffer(make([]byte, 0, maxWord), maxWord)
	words.Split(bufio.ScanWords)
	n := 0
	for words.Scan() {
		n++
		if err := take(n, words.Text()); err != nil {
			return err
		}
	}
	if err := words.Err(); err != nil {
		return fmt.Errorf("standard input, after word %d: %w", n, err)
	}
	return nil
}

// decode decodes one word; where says where it stood.
func (d *decoder) decode(word, where string) {
	id, parts, err := d.ids.parse(word)
	if err != nil {
		d.wrong++
		fmt.Fprintf(d.complain, "flakeward: %s%v\n", where, err)
		return
	}
	rounded := d.rounded.look(word)
	if !d.json {
		if d.good == 0 {
			d.table.heading(d.out)
		}
		d.table.row(d.out, id, parts, rounded)
	} else if line, err := json.Marshal(d.table.object(id, parts, rounded)); err == nil {
		_, _ = d.out.Write(append(line, '\n'))
	}
	d.good++
}

// verdict is an error if any ID was wrong.
func (d *decoder) verdict() error {
	if d.wrong > 0 {
		return fmt.Errorf("%d of %d IDs could not be decoded", d.wrong, d.wrong+d.good)
	}
	return nil
}
