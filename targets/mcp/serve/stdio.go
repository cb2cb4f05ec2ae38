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
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest message that is read, in bytes.
const maxLine = 4 << 20

// Patience is how long what is under way may take once the input ended.
const Patience = 5 * time.Second

// lines is a transport of one message per line. Unlike the SDK's own, it answers a line
// that is not a message with an error and keeps reading. When the input ends, it answers
// the calls under way before it closes.
type lines struct {
	in     io.ReadCloser
	out    io.WriteCloser
	relays bool // errors are another server's too: they get no reasons
}

// Connect starts reading.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	c := &lineConn{
		lines:   l,
		read:    make(chan jsonrpc.Message),
		closed:  make(chan struct{}),
		pending: map[jsonrpc.ID]*jsonrpc.Error{},
	}
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
	pending map[jsonrpc.ID]*jsonrpc.Error // calls that have no answer yet, with what is wrong with their parameters
	idle    chan struct{}                 // closed when none is pending any more

	greeted bool // a client initialized the connection; of the goroutine that reads
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

// line reads one line. It answers one that is too long with an error and skips it.
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
			c.send(invalid(noID, fmt.Sprintf("got a message of more than %d bytes", maxLine)))
			return nil, err
		}
		return line, err
	}
}

// take passes a line's messages on; false where the connection is closed. What follows a message on its
// line is another one, or has an error of its own.
func (c *lineConn) take(line []byte) bool {
	for line = bytes.TrimSpace(line); len(line) > 0; {
		var first json.RawMessage
		d := json.NewDecoder(bytes.NewReader(line))
		if d.Decode(&first) != nil {
			c.refuse(line, nil)
			return true
		}
		if !c.takeOne(first) {
			return false
		}
		line = bytes.TrimSpace(line[d.InputOffset():])
	}
	return true
}

// takeOne passes a message on.
func (c *lineConn) takeOne(line []byte) bool {
	m, err := readMessage(line)
	var msg jsonrpc.Message
	if err == nil {
		msg, err = m.decode()
	}
	if err == nil {
		err = c.mayAsk(msg)
	}
	if err != nil {
		c.refuse(line, err)
		return true
	}
	return c.pass(msg, m.fault)
}

// idOf returns the id of something that is not a message, noID where it has none.
func idOf(data []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(data, &m) != nil || len(m.ID) == 0 || !strings.ContainsRune(`"-0123456789`, rune(m.ID[0])) {
		return noID
	}
	return m.ID
}

// noID answers a message whose id cannot be read.
var noID = json.RawMessage("null")

// invalid returns the answer to something that is not a message of the protocol.
func invalid(id json.RawMessage, message string) json.RawMessage {
	return errorMessage(id, fail(invalidRequest, "%s", message))
}

func errorMessage(id json.RawMessage, e *jsonrpc.Error) json.RawMessage {
	b, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      id,
		"error":   map[string]any{"code": e.Code, "message": e.Message, "data": e.Data},
	})
	if err != nil {
		return json.RawMessage("null") // does not happen: the values are texts and numbers
	}
	return b
}

// tooEarly is what is wrong with a request of a connection that no client began.
type tooEarly string

func (m tooEarly) Error() string {
	return "got " + string(m) + " before initialize: call it first, or name the protocol's version in " +
		`"_meta" of each request`
}

// mayAsk reports an error for a request of a connection that no client initialized, unless it says itself which
// revision it is of: one such request does not speak for the next.
func (c *lineConn) mayAsk(msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() || c.greeted {
		return nil
	}
	switch req.Method {
	case "initialize":
		c.greeted = true
		return nil
	case "ping":
		return nil
	}
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(req.Params, &params)
	if kindOf(params.Meta[sdk.MetaKeyProtocolVersion]) == aText {
		return nil
	}
	return tooEarly(req.Method)
}

// notMessage says why JSON is not taken as a message.
func notMessage(err error) string {
	if _, ok := errors.AsType[tooEarly](err); ok {
		return err.Error()
	}
	return "got JSON that is not a message: " + err.Error()
}

// pass hands a message to the SDK, with what is wrong with its parameters; nil: nothing that shows.
func (c *lineConn) pass(msg jsonrpc.Message, fault *jsonrpc.Error) bool {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		c.mu.Lock()
		_, twice := c.pending[req.ID]
		if !twice && req.Method != untilTold {
			c.pending[req.ID] = fault
		}
		c.mu.Unlock()
		if twice {
			c.send(invalid(noID, "got the id of a request that is not answered yet"))
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

// refuse answers a line that is not a message: one that does not parse, or JSON that is
// not of the protocol.
func (c *lineConn) refuse(line []byte, err error) {
	if json.Valid(line) {
		c.send(invalid(idOf(line), notMessage(err)))
		return
	}
	c.send(errorMessage(noID, notJSON("a line", line)))
}

// send writes a line. It ignores that nobody reads: the next answer fails too.
func (c *lineConn) send(data []byte) {
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
	case <-time.After(Patience):
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

// Write sends a message.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	inWords := StandardError
	res, ok := msg.(*jsonrpc.Response)
	if ok && !c.relays {
		inWords = errorCoder(c.pending[res.ID])
	}
	data, err := encodeMessage(msg, inWords)
	if err != nil {
		return err
	}
	if ok {
		delete(c.pending, res.ID)
		if len(c.pending) == 0 && c.idle != nil {
			defer func() { close(c.idle); c.idle = nil }()
		}
	}
	_, err = c.out.Write(append(data, '\n'))
	return err
}
