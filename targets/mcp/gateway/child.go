package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/secret"
)

const (
	maxMessage = 8 << 20         // bytes of one message of a server
	maxNoise   = 1000            // lines of a server that are no messages
	stopGrace  = 2 * time.Second // that a program has to end by itself, and again after it was told to
)

// inheritedVars are the variables of the gateway's own environment that every server has: programs do not run, or
// are not found, without them. They are those that the official SDKs give a server.
var inheritedVars = inheritedVarsOf(runtime.GOOS)

func inheritedVarsOf(system string) []string {
	if system == "windows" {
		return []string{"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROGRAMFILES",
			"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"}
	}
	return []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}
}

// expanded returns an entry with its references to the environment followed.
func expanded(sv *ir.Server, lookup func(string) (string, bool)) (e secret.Entry, err error) {
	e = sv.Entry()
	missing := map[string]bool{}
	text := func(s string) string {
		return contract.ExpandRefs(s, func(name string) string {
			value, ok := lookup(name)
			missing[name] = missing[name] || !ok
			return value
		})
	}
	all := func(in map[string]string) map[string]string {
		out := make(map[string]string, len(in))
		for k, v := range in {
			out[k] = text(v)
		}
		return out
	}
	e.Command, e.Cwd, e.URL, e.Env, e.Headers = text(e.Command), text(e.Cwd), text(e.URL), all(e.Env), all(e.Headers)
	e.Args = slices.Clone(e.Args)
	for i, arg := range e.Args {
		e.Args[i] = text(arg)
	}
	var names []string
	for name, is := range missing {
		if is {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		err = fmt.Errorf("its entry refers to variables that are not set: %s", strings.Join(names, ", "))
	}
	return e, err
}

// command returns the program of a server that is started, in the project's folder.
func command(e secret.Entry, root string, lookup func(string) (string, bool)) *exec.Cmd {
	cmd := exec.Command(e.Command, e.Args...)
	cmd.Dir = root
	if e.Cwd != "" {
		cmd.Dir = e.Cwd
		if !filepath.IsAbs(e.Cwd) {
			cmd.Dir = filepath.Join(root, e.Cwd)
		}
	}
	cmd.Env = []string{}
	for _, name := range inheritedVars {
		if value, ok := lookup(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range e.Env { // of a name twice the last counts
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	ownGroup(cmd)
	return cmd
}

// child is a transport to a program that reads messages from its standard input and writes them to its
// standard output. Unlike the SDK's own it passes over lines that are no messages, of which real servers
// write some, and ends the programs that the program has started.
type child struct {
	cmd *exec.Cmd
	log *slog.Logger
	err tail // the end of what it says on standard error
	// progressed hears of a call's progress before its result is read: the SDK may tell of it later.
	progressed func(*sdk.ProgressNotificationParams)
}

// Connect starts the program. Soon after the context ends the connection does, whatever waits for the program then: it
// may not read.
func (c *child) Connect(ctx context.Context) (sdk.Connection, error) {
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.err.log = c.log
	c.cmd.Stderr = &c.err
	c.cmd.WaitDelay = stopGrace // a grandchild may hold the pipes open
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	conn := &childConn{child: c, in: in, read: make(chan jsonrpc.Message), life: life, end: end, flow: newFlow()}
	go conn.loop(out)
	context.AfterFunc(ctx, func() {
		time.Sleep(stopGrace)
		_ = conn.Close() // it has ended, mostly
	})
	return conn, nil
}

type childConn struct {
	*child
	in     io.WriteCloser
	read   chan jsonrpc.Message // closed where the output ends
	life   context.Context
	end    context.CancelFunc
	once   sync.Once
	failed error // why reading ended; set before read is closed
	write  sync.Mutex
	*flow
}

func (*childConn) SessionID() string { return "" }

func (c *childConn) loop(out io.Reader) {
	defer func() {
		if c.failed != nil && !errors.Is(c.failed, io.EOF) {
			kill(c.cmd) // it is not read any more, and would be waited for
		}
		close(c.read)
	}()
	r := bufio.NewReaderSize(out, 64<<10)
	var line []byte
	for noise := 0; noise < maxNoise; {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxMessage {
			c.failed = fmt.Errorf("it sent a message of more than %d bytes", maxMessage)
			return
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			msg, bad := jsonrpc.DecodeMessage(text)
			if bad != nil {
				noise++
				c.log.Info("a line on standard output that is no message is passed over",
					"line", shorten(string(text)))
			} else if !c.progress(msg) {
				if c.came(c.life, msg, len(text)) != nil {
					return
				}
				select {
				case c.read <- msg:
				case <-c.life.Done():
					return
				}
			}
		}
		if line = line[:0]; err != nil {
			c.failed = io.EOF
			return
		}
	}
	c.failed = fmt.Errorf("it wrote %d lines to its standard output that are no messages", maxNoise)
}

// progress tells of a message that is about a call's progress.
func (c *childConn) progress(msg jsonrpc.Message) bool {
	p := progressIn(msg)
	if p != nil {
		c.progressed(p)
	}
	return p != nil
}

// progressIn returns what a message says of a call's progress; nil: nothing.
func progressIn(msg jsonrpc.Message) *sdk.ProgressNotificationParams {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.IsCall() || req.Method != "notifications/progress" {
		return nil
	}
	p := &sdk.ProgressNotificationParams{}
	if json.Unmarshal(req.Params, p) != nil {
		return &sdk.ProgressNotificationParams{} // of no call
	}
	return p
}

func (c *childConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-c.read:
		if !ok {
			return nil, c.failed
		}
		return msg, nil
	case <-c.life.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *childConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(ownName(msg))
	if err != nil {
		return err
	}
	c.write.Lock()
	defer c.write.Unlock()
	if _, err = c.in.Write(append(data, '\n')); err == nil {
		noteSent(ctx)
		c.answered(msg)
	}
	return err
}

// Close lets the program end: it closes its input, then tells it to end, then ends it with all that it
// started.
func (c *childConn) Close() error {
	c.once.Do(func() {
		c.end()
		c.in.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = c.cmd.Wait() // how it ended does not matter
		}()
		for _, stop := range []func(*exec.Cmd){terminate, kill} {
			select {
			case <-done:
				kill(c.cmd) // what it started and left behind
				return
			case <-time.After(stopGrace):
				stop(c.cmd)
			}
		}
		<-done // killed, and WaitDelay bounds the rest
	})
	return nil
}

// tail keeps the end of what a program says, and logs it.
type tail struct {
	log  *slog.Logger
	mu   sync.Mutex
	text []byte
}

const maxTail = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	t.mu.Unlock()
	t.log.Info("on standard error", "text", shorten(string(p)))
	return len(p), nil
}

// last returns the last line that is not empty.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	return shorten(text[strings.LastIndexByte(text, '\n')+1:])
}

// shorten returns a text of a server as a line to be printed, without secrets.
func shorten(s string) string {
	const most = 500
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return secret.Text(diag.Clean(plainText(s)))
}

// lookupEnv is the gateway's own environment.
func lookupEnv(name string) (string, bool) { return os.LookupEnv(name) }
