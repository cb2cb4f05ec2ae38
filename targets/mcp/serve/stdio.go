package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest message that is read, in bytes.
const maxLine = 4 << 20

// patience is how long what is under way may take once the input ended.
const patience = 5 * time.Second

// lines is a transport of a message a line. Unlike the SDK's own it outlives what is no
// message: the sender is told, and the next line is read. When the input ends, calls
// under way are answered before the connection does.
type lines struct {
	in  io.ReadCloser
	out io.WriteCloser
}

// Connect starts reading.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	c := &lineConn{lines: l, read: make(chan jsonrpc.Message), closed: make(chan struct{}), pending: map[jsonrpc.ID]*batch{}}
	go c.loop()
	return c, nil
}

type lineConn struct {
	*lines
	read   chan jsonrpc.Message // closed at the end of the input
	closed chan struct{}
	once   sync.Once
	err    error // why reading ended; set before read is closed

	mu      sync.Mutex
	pending map[jsonrpc.ID]*batch // calls that have no answer yet; nil: of no batch
	idle    chan struct{}         // closed when none is pending any more
}

// batch is a list of messages of revision 2025-03-26, whose answers are a list too.
type batch struct {
	left    int
	answers []json.RawMessage
}

func (*lineConn) SessionID() string { return "" }

func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.in.Close()
}

// loop reads lines until the input ends.
func (c *lineConn) loop() {
	defer close(c.read)
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, err := c.line(r)
		if len(bytes.TrimSpace(line)) > 0 && !c.take(line) {
			return
		}
		if err != nil {
			if c.err = err; errors.Is(err, io.EOF) {
				c.drain()
			}
			return
		}
	}
}

// line reads one line. One that is too long is told about and skipped.
func (c *lineConn) line(r *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case long:
		case len(line)+len(part) > maxLine:
			line, long = nil, true
		case line == nil && err == nil:
			line = part // of the reader's own, until the next read
		default:
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			c.send(errorMessage(json.RawMessage("null"), jsonrpc.CodeInvalidRequest, fmt.Sprintf("got a message of more than %d bytes", maxLine)), nil)
			return nil, err
		}
		return line, err
	}
}

// take passes a line's messages on; false where the connection is closed.
func (c *lineConn) take(line []byte) bool {
	line = bytes.TrimSpace(line)
	if line[0] != '[' {
		msg, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			c.refuse(line, err)
			return true
		}
		return c.pass(msg, nil)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil || len(parts) == 0 {
		c.refuse(line, errors.New("got a list that holds no message"))
		return true
	}
	b := &batch{}
	var messages []jsonrpc.Message
	ids := map[jsonrpc.ID]bool{}
	for _, p := range parts {
		msg, err := jsonrpc.DecodeMessage(p)
		req, ok := msg.(*jsonrpc.Request)
		switch {
		case err != nil:
			b.left++
			b.answers = append(b.answers, errorMessage(idOf(p), jsonrpc.CodeInvalidRequest, "got JSON that is no message: "+err.Error()))
			continue
		case ok && req.IsCall() && (ids[req.ID] || c.waits(req.ID)):
			b.left++
			b.answers = append(b.answers, errorMessage(idOf(p), jsonrpc.CodeInvalidRequest, "got the id of a request that is not answered yet"))
			continue
		case ok && req.IsCall() && req.Method != untilTold:
			b.left++
			ids[req.ID] = true
		}
		messages = append(messages, msg)
	}
	if b.left > 0 && len(b.answers) == b.left { // nothing is left to wait for
		data, err := json.Marshal(b.answers)
		c.send(data, err)
	}
	for _, msg := range messages {
		if !c.pass(msg, b) {
			return false
		}
	}
	return true
}

// waits reports an id whose request is not answered yet.
func (c *lineConn) waits(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pending[id]
	return ok
}

// idOf is the id of what is no message, null where it has none.
func idOf(data []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(data, &m) != nil || len(m.ID) == 0 || m.ID[0] != '"' && (m.ID[0] < '0' || m.ID[0] > '9') && m.ID[0] != '-' {
		return json.RawMessage("null")
	}
	return m.ID
}

func errorMessage(id json.RawMessage, code int64, message string) json.RawMessage {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}})
	if err != nil {
		return json.RawMessage("null") // of values that are all texts and numbers
	}
	return b
}

func (c *lineConn) pass(msg jsonrpc.Message, b *batch) bool {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		c.mu.Lock()
		_, twice := c.pending[req.ID]
		if !twice && req.Method != untilTold {
			c.pending[req.ID] = b
		}
		c.mu.Unlock()
		if twice {
			c.send(errorMessage(json.RawMessage("null"), jsonrpc.CodeInvalidRequest, "got the id of a request that is not answered yet"), nil)
			return true
		}
	}
	select {
	case c.read <- msg:
		return true
	case <-c.closed:
		return false
	}
}

// untilTold is the method whose answer comes when the client has heard enough: the end of
// the input does not wait for it.
const untilTold = "subscriptions/listen"

// refuse answers what is no message: as one that does not parse, or that is none of
// the protocol's.
func (c *lineConn) refuse(line []byte, err error) {
	if json.Valid(line) {
		c.send(errorMessage(idOf(line), jsonrpc.CodeInvalidRequest, "got JSON that is no message: "+err.Error()), nil)
		return
	}
	c.send(errorMessage(json.RawMessage("null"), jsonrpc.CodeParseError, "got a line that is no JSON"), nil)
}

// send writes a line. If nobody reads, the next answer learns so.
func (c *lineConn) send(data []byte, err error) {
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(append(slices.Clip(data), '\n'))
}

// drain waits until every call has its answer, or for a while.
func (c *lineConn) drain() {
	c.mu.Lock()
	if len(c.pending) == 0 {
		c.mu.Unlock()
		return
	}
	c.idle = make(chan struct{})
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
	case <-c.closed:
	case <-time.After(patience):
	}
}

// Read returns the next message.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-c.read:
		if !ok {
			return nil, c.err
		}
		return msg, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message, or keeps it until its batch is whole.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if res, ok := msg.(*jsonrpc.Response); ok {
		b := c.pending[res.ID]
		delete(c.pending, res.ID)
		if len(c.pending) == 0 && c.idle != nil {
			defer func() { close(c.idle); c.idle = nil }()
		}
		if b != nil {
			b.answers = append(b.answers, data)
			if len(b.answers) < b.left {
				return nil
			}
			if data, err = json.Marshal(b.answers); err != nil {
				return err
			}
		}
	}
	_, err = c.out.Write(append(data, '\n'))
	return err
}
