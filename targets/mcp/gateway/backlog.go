package gateway

import (
	"crypto/rand"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// backlog bounds what a server has told and asked, and nobody has worked off yet: the SDK keeps any number of such
// messages. Once there are some, it asks the SDK a question in the server's place, which the SDK answers when it has
// worked off what came before. Until then nothing more is read. Nor is it while the server waits for many answers, or
// does not read them.
type backlog struct {
	id jsonrpc.ID // of the question, which no server knows

	mu    sync.Mutex
	moved chan struct{} // closed when an answer is written; then another
	told  int           // parts of messages since the last question
	calls int           // the server's, that have no answer
	asked bool          // the question has none
}

const (
	mostTold  = 64      // parts of messages between two questions
	mostAsked = 64      // calls of a server that have no answer
	toldPart  = 4 << 10 // bytes
)

func newBacklog() *backlog {
	id, _ := jsonrpc.MakeID("modec-" + rand.Text()) // a text is one
	return &backlog{id: id, moved: make(chan struct{})}
}

// came counts a message of the server, with its length in bytes. What answers a call of the gateway's own is not
// counted.
func (b *backlog) came(msg jsonrpc.Message, length int) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told += 1 + length/toldPart
	if req.IsCall() {
		b.calls++
	}
}

// more counts a further part of a message.
func (b *backlog) more() {
	b.mu.Lock()
	b.told++
	b.mu.Unlock()
}

// question returns the question where it is time for it, nil where it is not.
func (b *backlog) question() *jsonrpc.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told < mostTold {
		return nil
	}
	b.told, b.asked = 0, true
	return &jsonrpc.Request{ID: b.id, Method: "ping"}
}

// answered notes that a message was written.
func (b *backlog) answered(msg jsonrpc.Message) {
	if _, ok := msg.(*jsonrpc.Response); !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owns(msg) {
		b.asked = false
	} else {
		b.calls = max(0, b.calls-1)
	}
	close(b.moved)
	b.moved = make(chan struct{})
}

// owns reports whether a message answers the question: the server has not asked it.
func (b *backlog) owns(msg jsonrpc.Message) bool {
	res, ok := msg.(*jsonrpc.Response)
	return ok && res.ID == b.id
}

// wait waits until more may be read. It reports false where one of two ends comes before.
func (b *backlog) wait(end, other <-chan struct{}) bool {
	for {
		b.mu.Lock()
		full, moved := b.asked || b.calls >= mostAsked, b.moved
		b.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-moved:
		case <-end:
			return false
		case <-other:
			return false
		}
	}
}
