// Package gateway puts the MCP servers of a project behind one endpoint and enforces there what the
// compiled policy says of one subject: a role, a mode, or a role in a mode. [New] makes a gateway of a
// model, and [Gateway.Run] serves a client over standard input and output.
//
//	client ⇄ lines ⇄ Gateway ─ Table ─ upstream ⇄ the server's own transport
//	                    │
//	                 Approval (ask)
//
// # One table
//
// A [Table] is compiled once for a subject and the inventory. One function of it decides about a tool, a
// resource or a prompt: whether it exists for the subject, whether a person is asked first, or whether it
// is passed on. Every list is what the servers offer, joined with the table, and every call looks its item
// up in that same join. So what is listed can be called, and nothing else can. What is denied has the answer
// of what does not exist, to the letter. A server, and a tool, that the inventory does not name does not
// exist; a tool that a server offers from tomorrow on does not exist until the inventory names it. Methods
// that this package does not know are refused, also where the SDK would know them.
//
// What the policy leaves to the agent is denied: here is no agent. A gateway that an agent starts which
// itself asks a person before it calls a tool may be told so ([Options.AgentAsks]): then it only denies,
// and passes on what is asked about or left to the agent. For such an agent it can serve several subjects together
// ([Options.Unite]): what any of them may use exists, and the agent's own files hold each to its part.
//
// # Asking
//
// Where the policy says ask, a person is asked through the client's elicitation: by a request of the server
// up to revision 2025-11-25, by a result that requires input from 2026-07-28 on. The question shows the
// arguments whole, with every character that could mislead escaped, or the call is refused. The answer
// is bound to the policy, the server, the item and the arguments that were shown, holds for two minutes and
// once. A client that cannot be asked is told that this is why its call is refused.
//
// # Servers are not trusted
//
// A server starts when something of it is first needed, with an environment of its own: what its entry
// names, and the few variables without which programs do not run. It is started again when it ends, later
// each time. A call under way has an error then, unless it only reads, and never hangs. A server that fails costs its
// own tools only, and for seconds.
//
// What a server sends is bounded in size, depth and number; what servers list is kept up to a number of bytes, of all
// servers and callers together. Its objects keep the keys that modec does not know, and their order. An object with a
// key twice is refused, because two readers may read it in two ways. Descriptions, and texts of results, lose escape
// sequences and invisible characters; a definition that has them elsewhere, that refers to a schema on the network, or
// that grows without measure when its references are followed, is left out. Requests of a server to the client
// (sampling, roots, elicitation) are refused, unless its setting opens them ([Options.Open]): then they say which
// server asks.
//
// # Pins
//
// Where a server is pinned (package pins), the join also asks whether an item is as it was pinned: all of its object as
// the server wrote it, before anything is cleaned. What changed, or is new, is hidden, and told to the log once. A
// server that is started or reached otherwise than when it was pinned is hidden as a whole.
//
// # Reloads
//
// A new model, and new pins, take effect as one, and only as far as they narrow: what they permit beyond those before
// waits until a person starts the gateway again.
//
// Sources: the protocol's specification, revisions 2024-11-05 to 2026-07-28, and its chapter on security
// best practices (modelcontextprotocol.io/specification); the official Go SDK v1.8.0.
package gateway
