//go:build unix

package gateway

import (
	"io"
	"net"
	"testing"
)

// A program that does not end is ended, also while it starts, and with it what it started.
func TestStubborn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g := real(t, one(program("stubborn", "ADDRESS", l.Addr().String())), reviewer)
	started := make(chan error, 1)
	go func() {
		_, err := g.tool(t.Context(), "s_echo")
		started <- err
	}()
	var held []net.Conn
	for range 2 { // it and the program that it starts
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	g.Close()
	if err := <-started; err == nil {
		t.Error("a tool of a server that says nothing")
	}
	for _, c := range held {
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("got %v, want that the program ended", err)
		}
		c.Close()
	}
}
