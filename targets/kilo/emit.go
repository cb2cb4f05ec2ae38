package kilo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/internal/lastmatch"
	"modec.dev/modec/targets/kilo/format"
	opencode "modec.dev/modec/targets/opencode/format"
)

// agent is what Kilo has of its own.
var agent = &lastmatch.Agent{
	Name: name, Title: "Kilo", File: format.ConfigFile, Schema: format.Schema,
	Codes: lastmatch.Codes{
		AgentName: codeAgentName, Approval: codeApproval, Deny: codeDeny, NativeRule: codeNativeRule,
		NoFlags: codeNoFlags, Protected: codeProtected, RoleText: codeRoleText, Search: codeSearch,
		ServerOff: codeServerOff, UnknownSetting: codeUnknownSetting,
		UnknownSubject: codeUnknownSubject, Unlisted: codeUnlisted,
	},
	Own:         &lastmatch.Own{Files: format.OwnFiles, AgentAt: format.AgentAt, Nulls: opencode.WithNulls},
	Reads:       "opencode",
	Hook:        format.HookFile,
	SessionFile: format.SessionFile,
	BuiltIn:     format.BuiltIn,
	Reserved:    reserved,
	Taken:       slices.Concat(reserved, format.BuiltIn),
	Searches:    format.Searches,
	Harmless:    opencode.Harmless,
	Unasked:     format.Unasked(),
	Denied:      format.Denied,
	Secret:      format.Secret,
	Protected:   []string{"AGENTS.md"},
}

// reserved are agents that Kilo runs by itself, the older name of one, and those whose rules it puts behind all others.
var reserved = []string{"build", "compaction", "explore", "plan", "summary", "title"}

// Emit compiles a file for the sessions of each role, and those that every session reads.
func (kilo) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := lastmatch.New(agent, in)
	for i := range in.Project.Roles {
		e.Role(&in.Project.Roles[i])
	}
	sameRules(e, &in)
	if p, ok := e.Project(); ok {
		if !p.Own {
			besideOpencode(e, &in)
		}
		project(e, &p, slices.Contains(in.Beside, agent.Reads), hasOlder(in.Source))
	}
	return e.Emitted()
}

// sameRules reports subjects that have other rules for opencode alone, whose file Kilo reads too.
func sameRules(e *lastmatch.Emitter, in *contract.Input) {
	if !slices.Contains(in.Beside, agent.Reads) || in.Source == nil || len(in.Source.Agents()) == 0 {
		return
	}
	here, there := in.Source.For(name), in.Source.For(agent.Reads)
	digest := func(p *ir.Project, ref ir.SubjectRef) string {
		return (&ir.Project{Roles: []ir.Role{{Can: *p.Can(ref)}}}).DigestOfAll()
	}
	for _, ref := range in.Source.Subjects() {
		var at diag.Pos
		var place ir.Place
		if r := here.Role(ref.Role); r != nil {
			at, place = r.Pos, r.Place
		} else {
			m := here.Mode(ref.Mode)
			at, place = m.Pos, m.Place
		}
		if place.For(name) && place.For(agent.Reads) && digest(here, ref) != digest(there, ref) {
			e.Diags.Errorf(codeBeside, at,
				"Kilo reads what is written for opencode, too: %s has other rules there", ref).
				Hint("write the same can in agents.kilo and in agents.opencode, or neither").
				Target(name)
		}
	}
}

// besideOpencode reports what Kilo would read in the file of opencode, too: a key of an agent that its own files lack,
// or that they have before that file is read, decides as is written there.
func besideOpencode(e *lastmatch.Emitter, in *contract.Input) {
	if !slices.Contains(in.Beside, agent.Reads) || len(in.Project.Subjects()) == 0 {
		return
	}
	wrong := func(option, hint, message string, args ...any) {
		at := in.Options.Pos(option)
		if at.IsZero() {
			at.File = "modec.toml"
		}
		e.Diags.Errorf(codeBeside, at, message, args...).
			Path("targets." + name + "." + option).
			Hint(hint).
			Target(name)
	}
	of := func(role string) string {
		if role == "" {
			return "no role"
		}
		return "the role " + strconv.Quote(role)
	}
	role, other := in.Everybodys[name], in.Everybodys[agent.Reads]
	if role != other || role != "" && !in.AlsoFor(name, agent.Reads, role) {
		wrong("subject", "write the same subject in [targets.kilo] and [targets.opencode], or baseline",
			"Kilo reads what is written for opencode, too: got %s for its sessions, and %s for those of opencode, "+
				"want one", of(role), of(other))
	}
	for i := range in.Project.Modes {
		m := &in.Project.Modes[i]
		if n := cmp.Or(m.As, m.Slug); slices.Contains(behind, n) && slices.Contains(reserved, n) && m.For(agent.Reads) {
			e.Diags.Errorf(codeBeside, m.Pos, "Kilo has an agent of its own by the name %q, which would go by what is "+
				"written for opencode", n).
				Hint("give the mode another name (as), or other targets").
				Target(name)
		}
	}
	if file := e.File(); !strings.Contains(file, "/") {
		wrong("file", "write file = "+strconv.Quote(format.ConfigFile),
			"Kilo reads what is written for opencode behind %s, so that it would decide: want a file that is read last",
			file)
	}
}

// project writes what every session reads.
func project(e *lastmatch.Emitter, p *lastmatch.Project, beside, older bool) {
	if p.Own {
		whole(e, p, beside, older)
		return
	}
	floored(e, p, beside, older)
}

// hasOlder reports whether opencode has a mode of the older name of Kilo's own agent, in a file that Kilo reads too.
func hasOlder(p *ir.Project) bool {
	return slices.ContainsFunc(p.Modes, func(m ir.Mode) bool {
		return m.For("opencode") && (m.Slug == format.Older || m.As == format.Older)
	})
}

// lastCode adds to the agents of a file what names Kilo's agent "code" last, behind the other name of it.
func lastCode(agents contract.Object) contract.Object {
	if member(agents, format.Default) == nil {
		agents = append(agents, format.Default, contract.Object{})
	}
	return append(contract.Object{format.Older, contract.Object{}}, agents...)
}

// whole writes one file, in which the baseline is the permission of the file, as people have it: in Kilo's own words.
// Where the source says more, Kilo's own agents that put rules behind it are off. beside is set where Kilo reads what
// is written for opencode, too.
func whole(e *lastmatch.Emitter, p *lastmatch.Project, beside, older bool) {
	o := contract.Object{"$schema", format.Schema}
	places := []string{"/$schema"}
	for member := p.Permissions; len(member) > 0; member = member[2:] {
		o, places = append(o, member[:2]...), append(places, fmt.Sprint("/", member[0]))
	}
	agents := p.Modes
	if p.Can {
		for _, own := range behind {
			agents = append(agents, own, contract.Object{"disable", off})
		}
		if d, ok := search(p.Permissions); ok && member(agents, format.Default) == nil {
			agents = append(agents, format.Default, contract.Object{"permission", contract.Object{format.Semantic, d}})
		}
	}
	if beside && older {
		agents = lastCode(agents)
	}
	if before := resetIn(e.File()); beside && before != "" && len(p.Modes) > 0 {
		first := contract.Object{"$schema", format.Schema, "agent", reset(p)}
		e.Files = append(e.Files, contract.File{Path: before, Data: lastmatch.Text(first),
			Places: []string{"/$schema", "/agent/*"}})
	}
	if len(agents) > 0 {
		o, places = append(o, "agent", agents), append(places, "/agent/*")
	}
	if len(p.Servers) > 0 {
		o, places = append(o, "mcp", p.Servers), append(places, "/mcp/*")
	}
	if len(o) > 2 {
		e.Files = append(e.Files, e.Entries(contract.File{Path: e.File(), Data: lastmatch.Text(o), Places: places}))
	}
}

// off is what turns an agent off.
const off = true

// behind are Kilo's own agents whose rules stand behind those of a file.
var behind = []string{"ask", "explore", "plan"}

// search returns what a file decides about searching by meaning, which Kilo's own agent may do whatever the file says;
// false where it may.
func search(permissions contract.Object) (string, bool) {
	v, err := located.JSON("", contract.JSON(permissions))
	if err != nil {
		return "", false
	}
	rules, _, problem := opencode.ReadPermission(v.Get("permission"), opencode.WithNulls)
	r := opencode.Last(opencode.WithTools(v.Get("tools"), rules), format.Semantic, opencode.Every)
	if problem != "" || r == nil || r.Decision == ir.Allow {
		return "", false
	}
	return opencode.Word(r.Decision), true
}

// floored writes what every session reads: the floor, and the agents and servers. The baseline is an agent, as in a
// session of its own, and the floor is taken back for it: what it leaves to Kilo is as without modec. There is no floor
// where the agents lie in the file that Kilo reads first. beside is set where Kilo reads what is written for opencode,
// too.
func floored(e *lastmatch.Emitter, p *lastmatch.Project, beside, older bool) {
	o := contract.Object{"$schema", format.Schema}
	places := []string{"/$schema"}
	add := func(key string, value any, place string) {
		o, places = append(o, key, value), append(places, place)
	}
	agents := p.Modes
	first := contract.Object{"$schema", format.Schema}
	firstPlaces := []string{"/$schema"}
	if s, ok := e.Baseline(); ok {
		first = append(first, "permission", contract.Object{"*", "deny", opencode.Outside, "deny"})
		firstPlaces = append(firstPlaces, "/permission")
		if e.File() != format.FloorFile {
			add("permission", contract.Object{"*", nil, opencode.Outside, nil}, "/permission")
		}
		add("default_agent", s.Start, "/default_agent")
		agents = e.Alone(s)
	}
	if beside && older {
		agents = lastCode(agents)
	}
	if own := placed(agents); beside && len(own) > 0 {
		if older && member(own, format.Default) != nil {
			own = lastCode(own)
		}
		first, firstPlaces = append(first, "agent", own), append(firstPlaces, "/agent/*")
	}
	if len(first) > 2 && e.File() != format.FloorFile {
		e.Files = append(e.Files, contract.File{Path: format.FloorFile, Data: lastmatch.Text(first),
			Places: firstPlaces})
	}
	if len(agents) > 0 {
		add("agent", agents, "/agent/*")
	}
	if len(p.Servers) > 0 {
		add("mcp", p.Servers, "/mcp/*")
	}
	if len(o) > 2 {
		e.Files = append(e.Files, e.Entries(contract.File{Path: e.File(), Data: lastmatch.Text(o), Places: places}))
	}
}

// placed returns what gives patterns that opencode.json has not their places: Kilo reads that one between kilo.json and
// .kilo/kilo.json, and a pattern that it does not have would stand behind its own, where it decides. Each is denied
// until .kilo/kilo.json is read.
func placed(agents contract.Object) (out contract.Object) {
	own := append(format.Unasked(), format.Secret...)
	for i := 0; i+1 < len(agents); i += 2 {
		permission, _ := member(agents[i+1], "permission").(contract.Object)
		var keys contract.Object
		for k := 0; k+1 < len(permission); k += 2 {
			list, _ := permission[k+1].(contract.Object)
			last := -1
			for p := 0; p < len(list); p += 2 {
				if pattern, _ := list[p].(string); slices.Contains(own, pattern) {
					last = p
				}
			}
			var patterns contract.Object
			for p := 0; p <= last; p += 2 {
				patterns = append(patterns, list[p], "deny")
			}
			if last >= 0 {
				keys = append(keys, permission[k], patterns)
			}
		}
		if len(keys) > 0 && permission[0] == opencode.Every {
			keys = append(contract.Object{opencode.Every, "deny"}, keys...)
		}
		if len(keys) > 0 {
			out = append(out, agents[i], contract.Object{"permission", keys})
		}
	}
	return out
}

// resetIn returns the file that Kilo reads between opencode.json and one of its own, "" for none.
func resetIn(file string) string {
	switch file {
	case format.ConfigFile:
		return format.ConfigFile + "c"
	case format.ConfigFile + "c":
		return format.OldDir + "/kilo.json"
	}
	return ""
}

// reset returns agents that take back what opencode.json says of the modes: there it is what everybody's role of
// opencode may do in them. A word in the place of a list takes the whole list away, and denies until Kilo's own file is
// read. What that one does not say is as without either.
func reset(p *lastmatch.Project) (out contract.Object) {
	for i := 0; i+1 < len(p.Modes); i += 2 {
		name, _ := p.Modes[i].(string)
		permission, _ := member(p.Modes[i+1], "permission").(contract.Object)
		floored := member(permission, opencode.Every) == opencode.Word(ir.Deny)
		var keys contract.Object
		seen := map[string]bool{opencode.Every: true}
		for _, key := range slices.Concat(opencode.Keys, p.Keys[name]) {
			if seen[key] {
				continue
			}
			seen[key] = true
			var word any
			if floored || member(permission, key) != nil {
				word = opencode.Word(ir.Deny)
			}
			keys = append(keys, key, word)
		}
		out = append(out, name, contract.Object{"permission", keys})
	}
	return out
}

// member returns a member of an object.
func member(v any, key string) any {
	o, _ := v.(contract.Object)
	for i := 0; i+1 < len(o); i += 2 {
		if o[i] == key {
			return o[i+1]
		}
	}
	return nil
}
