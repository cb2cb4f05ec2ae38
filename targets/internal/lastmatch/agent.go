// Package lastmatch writes permissions for agents of which the last rule that matches decides: opencode, and what is
// made of it. A permission is an object of keys and patterns; a session is a file with agents, one of which it starts
// as.
//
// What a source says becomes, in this order: what no list names, what is allowed, what is asked about, what is denied.
// The package of a target says how its agent differs (Agent), and puts what comes of it into the files of the agent.
package lastmatch

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/opencode/format"
)

// Agent is what an agent has of its own.
type Agent struct {
	Name   string // of the target, and of the program
	Title  string // what people call it
	File   string // what every session reads
	Schema string // what a file names in $schema
	Codes  Codes

	// Own says what a source may say in the agent's own words, nil: settings of an agent alone.
	Own *Own
	// Reads is the agent whose file it reads before its own; "" for none.
	Reads string

	// Hook is the plugin by which it asks modec about every call, a file that it loads by itself.
	Hook string

	// SessionFile returns the file of the sessions of a subject.
	SessionFile func(ir.SubjectRef) string
	// BuiltIn are its own agents to which a person or a session can turn.
	BuiltIn []string
	// Reserved are names that no mode can have, and Taken those that no role's agent has.
	Reserved, Taken []string
	// Searches are the keys of tools that look below folders; Harmless those of tools that touch nothing but the
	// conversation.
	Searches, Harmless []string
	// Unasked are the commands that it runs by itself without asking about them, where it asks about the others.
	Unasked []string
	// Denied are tools of its own that it denies by itself.
	Denied []string
	// Secret are files that are read unasked only where a pattern of their own allows it.
	Secret []string
	// Protected are files about which it asks before it writes them, whatever is allowed.
	Protected []string
}

// Own is where an agent has what a source says in its own words: rules of a permission, names, files and prompts.
type Own struct {
	// Files are those of which every session of a project reads one, by the option "file"; nil: always Agent.File.
	Files []string
	// AgentAt returns the name that a file gives to the agent in it, "" for a file of none.
	AgentAt func(file string) string
	// Nulls says whether a null may take back what another file says.
	Nulls format.Nulls
}

// Codes are what the emitter reports, by a target's own names.
type Codes struct {
	AgentName, Approval, Deny, NativeRule, NoFlags, Protected, RoleText, Search, ServerOff, UnknownSetting,
	UnknownSubject, Unlisted diag.Code
}
