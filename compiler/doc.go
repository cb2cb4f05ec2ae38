// Package compiler turns a source into artifacts. The stages are functions from
// value to value; only load reads and only write writes:
//
//	modec.toml ┐
//	modec/*    ├ load ─ check ─ decode ─ resolve ─► ir.Project ─ emit ─► []target.File ─ write
//	prompts    ┘ nodes  shapes    rules   inherit                policy.Engine
//
// Load (load.go, parse.go, literal.go, evaluate.go) reads every data file below
// the source folder and unites what they say. Plain data is read from the syntax
// tree; CUE's evaluator runs only when a file holds more than data (a reference,
// an expression, an import), because it costs several times as much and reports a
// conflict far from its cause. Either way the result is a tree of nodes
// (node.go), each with its place. Files are anybody's: size, depth and the number
// of values are bounded, links and names stay inside the project, and nothing is
// imported but CUE's own packages and the schema.
//
// Check (check.go, shape.go, schemas.go) holds each server, mode, role and policy against
// its definition in the schema. The definitions are CUE (package schema); they
// are read into shapes once, so that every problem is reported at its place and
// in words, where CUE would report each branch of a failed disjunction and hide
// its siblings. A test holds the verdict of both against each other.
//
// What was reported is taken out of the tree, so that one build tells of wrong
// references beside wrong shapes.
//
// Decode (decode.go, sugar.go) turns nodes into rules with their places, and
// Claude Code's own rule grammar into neutral rules where that says no more.
//
// Resolve (resolve.go, inherit.go, refs.go, subjects.go) applies inheritance,
// checks every reference and reads prompt files. CUE decides shape, Go decides references: a type
// built out of the set of modes costs 45 seconds at a thousand of them. What
// comes out is the model, ir.Project, which links no CUE.
//
// Emit (compile.go, emit.go) runs the targets side by side on the model and one
// policy engine. A target returns files and losses; losses become errors where
// modec.toml says on_loss = "error". The compiler knows no target by name.
//
// Verify (verify.go, package verify) asks each target's model of its agent what
// it would do with the files, and compares that with the policy. It knows the
// source and the files, and nothing of how one became the other.
//
// Migrate (package migrate) goes the other way: each target imports its agent's own
// files into a model, these are joined, rendered as CUE (package render), compiled,
// and compared with what the agent decides from the files.
//
// Lint (package lint) looks at the model for what a valid source probably does not
// mean, and diff (package diff) decides the same actions by two of them.
//
// Write (write.go, lock.go) compares with what is there, refuses to touch what
// is not modec's own, merges modec's entries into files that people write too
// (package merge), and puts all files in place or none.
package compiler
