package serve

import (
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Lines returns a transport of one message per line over a pair of streams, as standard input and output
// have it. Unlike the SDK's own, it answers a line that is not a message with an error and keeps reading, and
// answers with the id that was sent. When the input ends, it answers the calls under way before it closes.
// Errors that have a code stay as they are.
func Lines(in io.ReadCloser, out io.WriteCloser) sdk.Transport {
	return &lines{in: in, out: out, relays: true}
}
