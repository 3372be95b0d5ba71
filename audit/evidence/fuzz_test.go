package evidence

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
)

// coder is the coding of one kind of entry.
type coder[T any] interface {
	frame(buf []byte, e T) ([]byte, error)
	append(b []byte, e T) []byte
	read(b []byte) (T, bool)
}

func newEvents() coder[Event]  { return &eventCoding{} }
func newReplies() coder[Reply] { return &replyCoding{} }

// fuzzLog: whatever is read of a log can be written, and reads as the same.
func fuzzLog[T interface{ check() error }](f *testing.F, magic string, data []byte, fresh func() coder[T], of func(io.Reader) ([]T, error)) {
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _ := of(bytes.NewReader(data))
		again, c := []byte(magic), fresh()
		for _, e := range got {
			frame, err := c.frame(nil, e)
			must(t, errors.Join(e.check(), err))
			again = append(again, frame...)
		}
		if back, err := of(bytes.NewReader(again)); err != nil || !reflect.DeepEqual(back, got) {
			t.Fatalf("%+v came back as %+v, %v", got, back, err)
		}
	})
}

func FuzzReadEvents(f *testing.F) {
	data, _ := writtenEvents(f, sampleEvents())
	fuzzLog(f, eventsMagic, data, newEvents, eventsOf)
}

func FuzzReadReplies(f *testing.F) {
	data, _ := writtenReplies(f, sampleReplies())
	fuzzLog(f, repliesMagic, data, newReplies, repliesOf)
}

// fuzzEntry is fuzzLog of one entry, which has no checksum in its way.
func fuzzEntry[T any](f *testing.F, samples []T, fresh func() coder[T]) {
	for _, e := range samples {
		f.Add(fresh().append(nil, e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, ok := fresh().read(data)
		if !ok {
			return
		}
		if again, ok := fresh().read(fresh().append(nil, e)); !ok || !reflect.DeepEqual(again, e) {
			t.Fatalf("%+v came back as %+v, %v", e, again, ok)
		}
	})
}

func FuzzEvent(f *testing.F) { fuzzEntry(f, sampleEvents(), newEvents) }
func FuzzReply(f *testing.F) { fuzzEntry(f, sampleReplies(), newReplies) }
