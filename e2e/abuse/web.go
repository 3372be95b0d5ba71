package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// streamsAtOnce is how many requests a connection of HTTP/2 may have at once.
const streamsAtOnce = 100

// webAbuses speak HTTP.
var webAbuses = []abuse{
	{name: "http-requests", connections: 1000, act: askAgain},
	{name: "http-over-the-rate", flags: []string{"--rate=2000/s"}, connections: 3000, act: askAgain},
	{name: "http-batches-unread", connections: 1000, act: unread("GET /v1/ids?count=60000 HTTP/1.1\r\nHost: f\r\n\r\n")},
	{name: "http2-streams", connections: 300, act: streams("POST", "/flakeward.v1.IdService/Stream", false)},
	{name: "http2-headers", connections: 300, act: streams("POST", "/flakeward.v1.IdService/Stream", false, hpack.HeaderField{Name: "x", Value: strings.Repeat("0", 15000)})},
	{name: "http2-batches-unread", connections: 300, act: streams("GET", "/v1/ids?count=4000", true)},
	{name: "http2-resets", connections: 100, act: resets},
}

// askAgain asks for one ID after the other.
func askAgain(ctx context.Context, c net.Conn) {
	reply := make([]byte, 4<<10)
	for ctx.Err() == nil {
		if _, err := io.WriteString(c, "GET /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n"); err != nil {
			return
		}
		if _, err := c.Read(reply); err != nil {
			return
		}
	}
}

// second begins a connection of HTTP/2 whose client takes nothing of a reply.
func second(c net.Conn) *http2.Framer {
	go func() { _, _ = io.Copy(io.Discard, c) }() // what is no reply
	f := http2.NewFramer(c, c)
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return nil
	}
	if f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}) != nil {
		return nil
	}
	return f
}

func header(method, path string, more ...hpack.HeaderField) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: method}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "f"}, {Name: ":path", Value: path},
		{Name: "content-type", Value: "application/grpc"},
	}, more...) {
		_ = e.WriteField(f) // to a buffer
	}
	return b.Bytes()
}

// streams begins as many requests as there may be at once. One that has no end has a message.
func streams(method, path string, ends bool, more ...hpack.HeaderField) func(context.Context, net.Conn) {
	block := header(method, path, more...)
	return func(ctx context.Context, c net.Conn) {
		f := second(c)
		for n := uint32(0); f != nil && n < streamsAtOnce && ctx.Err() == nil; n++ {
			if f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, EndHeaders: true, EndStream: ends, BlockFragment: block}) != nil {
				return
			}
			if !ends && f.WriteData(2*n+1, false, []byte{0, 0, 0, 0, 2, 8, 1}) != nil {
				return
			}
		}
	}
}

// resets begins requests and gives each up at once.
func resets(ctx context.Context, c net.Conn) {
	block, f := header("GET", "/v1/ids"), second(c)
	for n := uint32(1); f != nil && n < 1<<30 && ctx.Err() == nil; n += 2 {
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: n, EndHeaders: true, EndStream: true, BlockFragment: block}) != nil ||
			f.WriteRSTStream(n, http2.ErrCodeCancel) != nil {
			return
		}
	}
}
