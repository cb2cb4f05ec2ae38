package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// talk is an MCP client for scripts: `talk FILE COMMAND ARG...` starts a server and sends it the messages
// of a file, one a line, each after the answer to the one before. It prints each answer on a line, and
// below it the texts of its content, indented. Blank lines and those that begin with # are skipped, and
// `wait 2s` waits.
//
// The first session that an answer names is SESSION1 in what is sent and printed, its task TASK1, and so
// on, since the real names differ each time.
//
// Over HTTP (an argument of the command is --http) each message is a POST of its own. A line such as
// `Authorization: Bearer x` sets a header of those that follow, and `Authorization:` removes it; an answer
// that is not 200 has its status before it.
func talk() {
	if err := converse(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "talk:", err)
		os.Exit(1)
	}
}

// speaker sends one message to a server and returns its answer, nil for a message that has none.
type speaker func(message []byte) (answer []byte, err error)

var (
	headerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]+):\s*(.*)$`)
	handle     = regexp.MustCompile(`\b(ses|tsk)_[A-Za-z0-9]{8,}`)
)

func converse(file string, command []string) error {
	script, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	start, headers := overPipes, http.Header{}
	if strings.Contains(strings.Join(command, " "), "--http") {
		start = func(cmd *exec.Cmd) (speaker, func() error, error) { return overHTTP(cmd, headers) }
	}
	speak, end, err := start(cmd)
	if err != nil {
		return err
	}
	names := map[string]string{} // placeholders by the real names
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		if m := headerLine.FindStringSubmatch(line); m != nil {
			headers.Del(m[1])
			if m[2] != "" {
				headers.Set(m[1], m[2])
			}
			continue
		}
		if pause, ok := strings.CutPrefix(line, "wait "); ok {
			d, err := time.ParseDuration(pause)
			if err != nil {
				return err
			}
			time.Sleep(d)
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		for id, name := range names {
			line = strings.ReplaceAll(line, name, id)
		}
		answer, err := speak([]byte(line))
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", line, err), cmd.Process.Kill())
		}
		show(handle.ReplaceAllStringFunc(string(answer), func(id string) string {
			if names[id] == "" {
				kind := map[string]string{"ses": "SESSION", "tsk": "TASK"}[id[:3]]
				n := 1
				for _, name := range names {
					if strings.HasPrefix(name, kind) {
						n++
					}
				}
				names[id] = fmt.Sprint(kind, n)
			}
			return names[id]
		}))
	}
	return end()
}

// show prints an answer and its texts.
func show(answer string) {
	if answer == "" {
		return
	}
	fmt.Println(answer)
	var a struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	_ = json.Unmarshal([]byte(answer), &a) // what is not an answer has no texts
	for _, c := range a.Result.Content {
		for line := range strings.Lines(c.Text) {
			fmt.Println("  " + strings.TrimSuffix(line, "\n"))
		}
	}
}

// overPipes starts a server that speaks over its standard input and output.
func overPipes(cmd *exec.Cmd) (speaker, func() error, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stderr = os.Stderr
	answers := make(chan []byte)
	go func() {
		defer close(answers)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			answers <- bytes.TrimSpace(line)
		}
	}()
	speak := func(message []byte) ([]byte, error) {
		var m struct{ ID, Method any }
		whole := json.Unmarshal(message, &m) == nil
		if _, err := in.Write(append(message, '\n')); err != nil || whole && m.ID == nil {
			return nil, err
		}
		for {
			select {
			case answer, ok := <-answers:
				if !ok {
					return nil, errors.New("the server ended")
				}
				var a struct{ ID any }
				if json.Unmarshal(answer, &a) == nil && a.ID == m.ID {
					return answer, nil
				}
			case <-time.After(20 * time.Second):
				return nil, errors.New("the server does not answer")
			}
		}
	}
	return speak, func() error {
		_ = in.Close()
		for range answers { // what it still says, so that it can end
		}
		return cmd.Wait()
	}, cmd.Start()
}

// overHTTP starts a server that says on its standard output where it listens.
func overHTTP(cmd *exec.Cmd, headers http.Header) (speaker, func() error, error) {
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	r := bufio.NewReader(said)
	var address string
	for address == "" {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, nil, errors.Join(err, cmd.Wait())
		}
		if said, ok := strings.CutPrefix(line, "serving "); ok {
			address = strings.TrimSpace(said)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	speak := func(message []byte) ([]byte, error) {
		req, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(message))
		if err != nil {
			return nil, err
		}
		req.Header = headers.Clone()
		req.Header.Set("Content-Type", "application/json")
		client := http.Client{Timeout: 20 * time.Second}
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if answer = bytes.TrimSpace(answer); res.StatusCode != http.StatusOK {
			answer = fmt.Appendf(nil, "HTTP %d %s", res.StatusCode, answer)
		}
		return answer, err
	}
	return speak, func() error {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was interrupted
		return nil
	}, nil
}
