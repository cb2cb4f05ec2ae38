// Package serve answers questions about a compiled project over the Model
// Context Protocol: which modes, roles and servers there are, their prompts, and what
// each may do. [New] returns a server, [Server.Run] serves standard input and output,
// and [Server.Handler] serves HTTP.
//
// Sources: the protocol's specification, revisions 2024-11-05 to 2026-07-28
// (modelcontextprotocol.io/specification), the official Go SDK v1.8.0, which speaks
// all of them, and SEP-2640 for skills.
//
// # What is enforced
//
// Nothing is enforced here: an agent that asks gets an answer, and may ignore it. The
// artifacts and hooks of the other targets enforce the same decisions, because the same
// engine decides.
//
// # Rules of the protocol that shape it
//
//   - A list does not vary with a connection or as a side effect of a call (2026-07-28,
//     server/tools): the working mode is fixed by a flag or by the path of the
//     endpoint, never by switch_mode.
//   - A session's id is a handle, passed as an ordinary argument and random. It proves
//     nothing about who asks (2026-07-28, basic/security_best_practices).
//   - -32000 to -32099 belong to the protocol and to older implementations. Errors have
//     the standard codes; their data names the code of the modes-server specification.
//   - What a policy refuses is a result with isError, so that the model sees why. What
//     does not exist or is malformed is an error of the protocol.
//   - The SDK does not recover from a panic in a handler; a middleware here does.
package serve
