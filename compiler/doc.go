// Package compiler turns a source into artifacts. Each stage takes a value and returns
// a value. Only loading reads the disk, and only writing changes it:
//
//	modec.toml ─ config ─► Config ───────────────┐
//	modec/*    ─ source ─► nodes ─ shape ─► data ─ resolve ─► ir.Project ─ emit ─► files ─ output ─► disk
//	prompts    ─ source ─► texts ────────────────┘            policy.Engine
//
// [Open] goes as far as the model, [Compile] as far as the files. [Result.Write] writes
// them, and `modec diff`, `build --check` and the tests compare them instead. So these
// commands cannot disagree.
//
// # The stages
//
// Load (packages config and source) reads modec.toml and every data file below the
// source folder, and unites what they say. Plain data is read from the syntax tree.
// CUE's evaluator runs only where a file has more than data (a reference, an expression,
// an import), because it costs several times as much and reports a conflict far from its
// cause. The result is a tree of nodes, each with its place. Anybody may have written
// the files: size, depth and the number of values are bounded, links and names stay
// inside the project, and nothing is imported but CUE's own packages and the schema.
//
// Shape (package shape) checks each server, mode, role and policy against its definition
// in the schema. The definitions are CUE (package cue). They are read into shapes once,
// so that every problem is reported at its place and in words; CUE would report every
// branch of a failed disjunction and hide its siblings. A test compares the verdicts of
// both. What was reported is taken out of the tree, so that one build reports wrong
// references beside wrong shapes.
//
// Resolve (package resolve) turns nodes into rules with their places, translates rules
// in an agent's own grammar where that loses nothing, applies inheritance, checks every
// reference and takes in the prompts. CUE decides shape and Go decides references: a type
// built out of the set of modes costs 45 seconds at a thousand of them. The result is the
// model, [ir.Project], which links no CUE. Package policy decides by it; its
// documentation is the specification of what a source means.
//
// Emit (emit.go) runs the targets side by side on the model and one policy engine. A
// target returns files, and losses as diagnostics. The losses become errors where
// modec.toml says on_loss = "error". No package here knows a target by name: what
// differs between agents is an optional interface of package contract.
//
// Write (package output) compares the files with what is there. It refuses to replace
// what modec did not write, merges modec's entries into files that people write too
// (package jsonedit), and puts all files in place or none.
//
// # What asks the model
//
//   - verify asks each target's model of its agent what it would do with the files, and
//     compares that with the policy. It does not know how one became the other.
//   - lint looks for what a valid source probably does not mean, suggest for what it
//     could permit less.
//   - diff decides the same actions by two models.
//   - why removes parts of the model until a line of an artifact changes.
//   - targets/mcp/serve answers agents from the model.
//   - targets/mcp/gateway holds their calls of MCP servers to it.
//
// # The way back
//
// Package migrate lets each target import its agent's own files into a model, joins
// these, writes them as CUE (package render), compiles that, and compares the result with
// what the agents decide from the original files.
package compiler
