package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestPatientNeverWaits logs into a pipe that nobody reads, and reads it then.
func TestPatientNeverWaits(t *testing.T) {
	r, w := io.Pipe()
	p := newPatient(w)
	for i := range 3 * waiting { // a Write that waited would never return
		fmt.Fprintf(p, "line %d\n", i)
	}
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		text <- string(b)
	}()
	for i := 0; i < 100; i++ { // until there is room again
		fmt.Fprintln(p, "later")
		time.Sleep(time.Millisecond)
	}
	p.Close()
	w.Close()
	got := <-text
	for _, want := range []string{"line 0\n", "log lines were lost\n", "later\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not there", want)
		}
	}
}
