package evidence

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"
)

func FuzzReadEvents(f *testing.F) {
	data, _ := writtenEvents(f, sampleEvents())
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte(eventsMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _ := eventsOf(bytes.NewReader(data))
		again, c := []byte(eventsMagic), eventCoding{}
		for _, e := range got { // whatever is read can be written
			frame, err := c.frame(nil, e)
			must(t, errors.Join(e.check(), err))
			again = append(again, frame...)
		}
		if back, err := eventsOf(bytes.NewReader(again)); err != nil || !slices.Equal(back, got) {
			t.Fatalf("%+v came back as %+v, %v", got, back, err)
		}
	})
}

// FuzzEvent has no checksum in its way.
func FuzzEvent(f *testing.F) {
	for _, e := range sampleEvents() {
		var c eventCoding
		f.Add(c.append(nil, e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c eventCoding
		e, ok := c.read(data)
		if !ok {
			return
		}
		c = eventCoding{}
		b := c.append(nil, e)
		c = eventCoding{}
		if again, ok := c.read(b); !ok || again != e {
			t.Fatalf("%+v came back as %+v, %v", e, again, ok)
		}
	})
}

func FuzzReadReplies(f *testing.F) {
	data, _ := writtenReplies(f, sampleReplies())
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte(repliesMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _ := repliesOf(bytes.NewReader(data))
		again, c := []byte(repliesMagic), replyCoding{}
		for _, r := range got {
			frame, err := c.frame(nil, r)
			must(t, errors.Join(r.check(), err))
			again = append(again, frame...)
		}
		if back, err := repliesOf(bytes.NewReader(again)); err != nil || !reflect.DeepEqual(back, got) {
			t.Fatalf("%+v came back as %+v, %v", got, back, err)
		}
	})
}

func FuzzReply(f *testing.F) {
	for _, r := range sampleReplies() {
		var c replyCoding
		f.Add(c.append(nil, r))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c replyCoding
		r, ok := c.read(data)
		if !ok {
			return
		}
		c = replyCoding{}
		b := c.append(nil, r)
		c = replyCoding{}
		if again, ok := c.read(b); !ok || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v came back as %+v, %v", r, again, ok)
		}
	})
}
