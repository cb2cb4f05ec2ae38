package lint

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/pins"
)

// eachPin calls a function with everything that is pinned, in the order of the file.
func (p *pass) eachPin(visit func(s *pins.Server, k pins.Kind, name string, pin pins.Pin)) {
	if p.Pins == nil {
		return
	}
	for _, s := range p.Pins.Servers {
		visit(s, pins.Entry, "", s.Entry)
		if s.Instructions.Sum != "" {
			visit(s, pins.Instructions, "", s.Instructions)
		}
		for _, k := range pins.Listed {
			for _, name := range slices.Sorted(maps.Keys(s.Items[k])) {
				visit(s, k, name, s.Items[k][name])
			}
		}
	}
}

// eachText calls a function with every text of what servers said when they were pinned, keys included.
func (p *pass) eachText(visit func(s *pins.Server, id string, pin pins.Pin, text string) (found bool)) {
	p.eachPin(func(s *pins.Server, k pins.Kind, name string, pin pins.Pin) {
		if k == pins.Entry {
			return // of the source
		}
		var value any
		if json.Unmarshal(pin.Value, &value) != nil {
			return // it was read from JSON
		}
		id := pins.ID(s.Name, k, name)
		anyText(value, func(text string) bool { return visit(s, id, pin, text) })
	})
}

// anyText reports whether a function does of some text of a value. Keys are looked at in order.
func anyText(v any, is func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return is(v)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return anyText(item, is) })
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if is(key) || anyText(v[key], is) {
				return true
			}
		}
	}
	return false
}

func (p *pass) editedPins() {
	p.eachPin(func(s *pins.Server, k pins.Kind, name string, pin pins.Pin) {
		if pin.Edited() {
			id := pins.ID(s.Name, k, name)
			p.find(pin.Pos, "the digest is not that of the value beside it: somebody edited the pin").
				Subject("server "+s.Name).
				Hintf("restore the line from version control, or pin again what the server offers: `%s`",
					pins.Command(id))
		}
	})
}

func (p *pass) stalePins() {
	if p.Pins == nil {
		return
	}
	for _, s := range p.Pins.Servers {
		sv := p.Project.Server(s.Name)
		switch {
		case sv == nil:
			p.find(s.Pos, "the source has no server %q", s.Name).
				Subject("server " + s.Name).
				Hint("remove what is pinned of it, or restore the server")
		case sv.Type == ir.External:
			p.find(s.Pos, "the server %q is external, so that the gateway does not start it: its pins hold nothing",
				s.Name).
				Subject("server " + s.Name).
				Hint("remove what is pinned of it")
		case !s.SameEntry(sv):
			p.find(s.Entry.Pos, "the source starts or reaches the server %q otherwise than when it was pinned, "+
				"and the gateway hides it", s.Name).
				Subject("server "+s.Name).
				Related(sv.Pos, "the server in the source").
				Hintf("where the source is right, `%s`", pins.Command(pins.ID(s.Name, pins.Entry, "")))
		}
	}
}

func (p *pass) unpinnedServers() {
	if p.Pins == nil {
		return
	}
	for i := range p.Project.Servers {
		sv := &p.Project.Servers[i]
		if sv.Type != ir.External && p.Pins.Server(sv.Name) == nil {
			p.find(p.Pins.Pos, "nothing of the server %q is pinned, so that it may change what it says", sv.Name).
				Subject("server "+sv.Name).
				Related(sv.Pos, "the server in the source").
				Hintf("`%s` pins it", pins.Command(sv.Name))
		}
	}
}

func (p *pass) hiddenCharacters() {
	p.eachText(func(s *pins.Server, id string, pin pins.Pin, text string) bool {
		r, ok := hidden(text)
		if ok {
			p.find(pin.Pos, "%s has the hidden character %U, which a model reads and a person does not see", id, r).
				Subject("server " + s.Name).
				Hint("ask whoever makes the server why, or take the tool out of the inventory")
		}
		return ok
	})
}

// hidden returns the first character of a text that a person does not see. Those that make pictures of others are none.
func hidden(text string) (rune, bool) {
	rs := []rune(text)
	for i, r := range rs {
		picture := i > 0 && (unicode.In(rs[i-1], unicode.So, unicode.Sm, unicode.Sk, unicode.Nd) || rs[i-1] == 0xFE0F ||
			strings.ContainsRune("#*©®", rs[i-1]))
		switch {
		case !pins.Invisible(r), r == '\r' && i+1 < len(rs) && rs[i+1] == '\n':
		case picture && (r == 0xFE0E || r == 0xFE0F):
		case picture && r == 0x200D && i+1 < len(rs) && unicode.Is(unicode.So, rs[i+1]):
		default:
			return r, true
		}
	}
	return 0, false
}

// steering are texts by which a tool's description steers a model beyond saying what the tool does.
var steering = []struct {
	what string
	x    func() *regexp.Regexp
}{
	{"other instructions are to be ignored", lazy.Regexp(
		`(?i)\b(ignore|disregard|forget|override|bypass)\b` +
			`( (all|any|the|your|these|those|of|and|previous|prior|above|earlier|other|existing|system|safety|` +
			`security))*` +
			` (instruction|prompt|rule|guideline|restriction|polic)`)},
	{"something is to be kept from the user", lazy.Regexp(
		`(?i)\b(do not|don'?t|never|without|avoid|must not) (\w+ ){0,2}?` +
			`(tell|mention|inform|notify|reveal|show|ask|alert|disclos)(e|ing|ying)?\b.{0,40}` +
			`\b(user|human|anyone|anybody)\b`)},
	{"it stands in a tag for the model", lazy.Regexp(
		`(?i)<\s*/?\s*(important|system|instructions?|secret|hidden|assistant|critical|admin)\b[^>]*>`)},
	{"it names where secrets lie", lazy.Regexp(
		`(?i)(~|\$home|/home/\w+|/root|%userprofile%)[/\\]\.(ssh|aws|gnupg|netrc|npmrc|kube|docker|config|cursor|` +
			`claude|env)\b|\bid_(rsa|ed25519|ecdsa)\b|/etc/(passwd|shadow)\b`)},
	{"it asks for the conversation or the system prompt", lazy.Regexp(
		`(?i)\b(include|pass|send|append|provide|add|repeat|output|return|save|log)\b.{0,60}\b(system prompt|` +
			`(whole|full|entire|complete) (conversation|chat|history|context)|(conversation|chat) history|` +
			`previous messages)\b`)},
	{"other tools are to be used otherwise", lazy.Regexp(
		`(?i)\b(instead of|rather than|in place of|before|prior to|after|whenever|every time)\b.{0,30}` +
			`\b(any|every|all|each)( the)?( other)? (tool|server|request|message|email)s?\b`)},
	{"a fake turn of the conversation stands in it", lazy.Regexp(
		`(?i)(^|\n)\s*(system|assistant|human|user)\s*:\s*\S+|<\|im_start\||\[/?INST\]`)},
}

func (p *pass) steeringDescriptions() {
	p.eachText(func(s *pins.Server, id string, pin pins.Pin, text string) bool {
		plain := seen(text)
		for _, f := range steering {
			if m := f.x().FindString(plain); m != "" {
				p.find(pin.Pos, "%s seems to instruct the model, %s: %+.80q", id, f.what, strings.TrimSpace(m)).
					Subject("server " + s.Name).
					Hint("read what is pinned; where it only says what the tool does, set the rule in modec.toml")
				return true
			}
		}
		return false
	})
}

// seen returns a text as a person sees it: without hidden characters, with single spaces.
func seen(text string) string {
	lines := strings.Split(strings.Map(func(r rune) rune {
		if pins.Invisible(r) {
			return -1
		}
		return r
	}, text), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, "\n")
}

// word matches what can be a tool's name.
var word = lazy.Regexp(`[A-Za-z0-9_.:-]+`)

// telling matches names that are no common words: with a separator, or with a capital in them.
var telling = lazy.Regexp(`[A-Za-z0-9][_.:-][A-Za-z0-9]|[a-z][A-Z]`)

func (p *pass) foreignTools() {
	of := p.serversOf()
	p.eachText(func(s *pins.Server, id string, pin pins.Pin, text string) bool {
		for _, at := range word().FindAllStringIndex(text, -1) {
			name := strings.Trim(text[at[0]:at[1]], ".:-")
			quoted := at[0] > 0 && at[1] < len(text) && text[at[0]-1] == text[at[1]] &&
				strings.ContainsRune("\"'`", rune(text[at[1]]))
			servers := of[name]
			if len(servers) == 0 || servers[s.Name] || !quoted && !telling().MatchString(name) {
				continue
			}
			p.find(pin.Pos, "%s names %q, a tool of server %q", id, name, slices.Sorted(maps.Keys(servers))[0]).
				Subject("server " + s.Name).
				Hint("a server that speaks of another one's tools can change how they are used: read what is pinned")
			return true
		}
		return false
	})
}

// serversOf returns the servers that have tools, by every name that a text may give a tool.
func (p *pass) serversOf() map[string]map[string]bool {
	of := map[string]map[string]bool{}
	add := func(server, tool string) {
		for _, name := range []string{tool, server + "_" + tool, server + ":" + tool, server + "." + tool,
			"mcp__" + server + "__" + tool} {
			if of[name] == nil {
				of[name] = map[string]bool{}
			}
			of[name][server] = true
		}
	}
	for i := range p.Project.Servers {
		for _, t := range p.Project.Servers[i].Tools {
			add(p.Project.Servers[i].Name, t.Name)
		}
	}
	p.eachPin(func(s *pins.Server, k pins.Kind, name string, _ pins.Pin) {
		if k == pins.Tools {
			add(s.Name, name)
		}
	})
	return of
}
