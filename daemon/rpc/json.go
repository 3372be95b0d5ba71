package rpc

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// strictJSON is connect's codec of JSON, but for what it does not know: a misspelt field or form
// would be left out, and other IDs issued than were asked for. It is its name, which is the end of
// a Content-Type.
type strictJSON string

// Name implements connect.Codec, as the others do.
func (c strictJSON) Name() string { return string(c) }

// Marshal writes a message.
func (strictJSON) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	return protojson.Marshal(m)
}

// Unmarshal reads one.
func (strictJSON) Unmarshal(text []byte, message any) error {
	m, ok := message.(proto.Message)
	switch {
	case !ok:
		return fmt.Errorf("%T is no message", message)
	case len(text) == 0:
		return errors.New("there is no message: send an object, such as {}")
	}
	err := protojson.Unmarshal(text, m)
	if err != nil && strings.Contains(err.Error(), "enum") {
		return fmt.Errorf("%w: forms are written as FORM_BASE62 is", err)
	}
	return err
}
