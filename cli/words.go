package cli

import (
	"bufio"
	"fmt"
	"io"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/internal/form"
)

// words are the IDs that a command is told, one by one. One that is wrong is complained about, and
// does not keep the others from being read.
type words struct {
	*urfave.Context
	wrong         int
	good, rounded int // and of the good ones, those that may be rounded
}

// wordsOf are the command's arguments. A - stands for the words of standard input.
func wordsOf(c *urfave.Context) (*words, error) {
	if !c.Args().Present() {
		return nil, usagef("%s needs at least one ID, or - to read them from standard input", commandName(c))
	}
	return &words{Context: c}, nil
}

// each has read called with each word, and whether it may be rounded if it is an ID. What read
// returns is what is wrong with the word, or an error that ends all.
func (w *words) each(read func(word string, rounded bool) (wrong, err error)) error {
	take := func(word, where string) error {
		rounded := form.MayBeRounded(word)
		wrong, err := read(word, rounded)
		switch {
		case err != nil:
		case wrong != nil:
			w.wrong++
			fmt.Fprintf(w.App.ErrWriter, "flakeward: %s%v\n", where, wrong)
		default:
			if w.good++; rounded {
				w.rounded++
			}
		}
		return err
	}
	for _, word := range w.Args().Slice() {
		var err error
		if word == "-" {
			err = eachOf(w.App.Reader, take)
		} else {
			err = take(word, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxWord bounds a word of standard input, in bytes. IDs have 19 digits at most.
const maxWord = 4096

// eachOf hands on the words of standard input, and where they stood.
func eachOf(in io.Reader, take func(word, where string) error) error {
	words := bufio.NewScanner(in)
	words.Buffer(make([]byte, 0, maxWord), maxWord)
	words.Split(bufio.ScanWords)
	n := 0
	for words.Scan() {
		n++
		if err := take(words.Text(), fmt.Sprintf("word %d of standard input: ", n)); err != nil {
			return err
		}
	}
	if err := words.Err(); err != nil {
		return fmt.Errorf("standard input, after word %d: %w", n, err)
	}
	return nil
}

// sayRounded says how many may be rounded, and why, if any may.
func (w *words) sayRounded() {
	if w.rounded > 0 {
		fmt.Fprintf(w.App.ErrWriter, "flakeward: %d of %d IDs may be rounded: %s\n", w.rounded, w.good, form.Rounded)
	}
}

// verdict is an error if any ID was wrong, so that it could not be what was to be done with it.
func (w *words) verdict(done string) error {
	if w.wrong > 0 {
		return fmt.Errorf("%d of %d IDs could not be %s", w.wrong, w.wrong+w.good, done)
	}
	return nil
}
