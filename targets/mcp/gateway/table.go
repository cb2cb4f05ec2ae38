package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/inventory"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/compiler/policy"
)

// Access is what the gateway does about an item. The order is that of permissiveness.
type Access uint8

const (
	Hidden Access = iota // it does not exist
	Asked                // a person is asked first
	Passed               // it is passed on
)

// Grant is what the policy says of an item, and the rule that does.
type Grant struct {
	Access Access
	Result policy.Result
}

// Naming says by which prefix a server's tools and prompts are known to clients. A server that it lacks
// has its own name with an underscore; an empty prefix leaves the server's names as they are.
type Naming map[string]string

// Table is what one subject may do with the servers of an inventory. It does not change.
type Table struct {
	who     string        // the subject or the roles, for people
	ref     ir.SubjectRef // with several roles, the role is the list of them
	project *ir.Project
	decide  decider
	byArgs  []decider // those of policies in which arguments of calls decide: see called
	digest  string    // of what decides about the subject
	policy  string    // the digest of all that a gateway for many serves; "": that of the subject
	servers []*serverTable
	names   map[string]toolName // of tools, as clients know them
	moved   []string            // servers that are started or reached otherwise than when they were pinned
	alike   []toolName          // that are left out, because agents cannot tell them apart
}

// decider says what a policy decides.
type decider func(policy.Action) (policy.Result, Access)

// toolName is a tool as its server knows it.
type toolName struct{ server, tool string }

// serverTable is the part of a table about a server of which the subject may use something.
type serverTable struct {
	entry     ir.Server
	prefix    string
	tools     map[string]Grant // by the server's own names; Hidden ones are not in it
	resources Grant
	prompts   Grant
	pins      *pins.Server // nil: nothing of the server is pinned
}

// NewTable compiles the table of a subject, with the pins of the project. It fails where the project has no such
// subject, and where the tools of two servers have one name, or a name that clients do not take.
func NewTable(e *policy.Engine, ref ir.SubjectRef, naming Naming, asks bool, set *pins.Set) (*Table, error) {
	return (&Options{Subject: ref, Naming: naming, AgentAsks: asks, Pins: set}).newTable(e)
}

// newTable compiles the table of a gateway.
func (o *Options) newTable(e *policy.Engine) (*Table, error) {
	if err := o.Naming.check(e.Project()); err != nil {
		return nil, err
	}
	if o.timed(e) { // the names are unique at any time
		t, err := o.tableOf(e.Opened(), o.Pins)
		if err != nil {
			return nil, err
		}
		if err := t.index(); err != nil {
			return nil, err
		}
		if t, err = o.tableOf(e, o.Pins); err != nil { // it may not be entered now
			t = emptyTable(e, o.Subject)
		}
		return t, t.index()
	}
	t, err := o.tableOf(e, o.Pins)
	if err != nil {
		return nil, err
	}
	return t, t.index()
}

// tableOf is newTable with other pins, but for the names.
func (o *Options) tableOf(e *policy.Engine, set *pins.Set) (*Table, error) {
	if o.Unite != nil {
		return unitedTable(e, o.Who, o.Unite(e.Project()), o.Naming, set), nil
	}
	return tableOf(e, o.Subject, o.Naming, o.AgentAsks, set)
}

// tableOf is NewTable but for the names, which are unique where the table is narrowed to one whose names are.
func tableOf(e *policy.Engine, ref ir.SubjectRef, naming Naming, asks bool, set *pins.Set) (*Table, error) {
	s, err := e.Subject(ref)
	if err != nil {
		return nil, err
	}
	if err := checkMode(e, ref); err != nil {
		return nil, err
	}
	t := &Table{who: ref.String(), ref: ref, digest: e.Digest(ref)}
	decide := s.DecideWithoutAgent
	if asks {
		decide = s.Decide
	}
	t.compile(e.Project(), naming, set, func(a policy.Action) (policy.Result, Access) {
		r := decide(a)
		return r, accessOf(r.Decision, asks)
	})
	return t, nil
}

// unitedTable compiles the table of several subjects at once, for an agent that enforces what each of them may do.
func unitedTable(e *policy.Engine, who string, refs []ir.SubjectRef, naming Naming, set *pins.Set) *Table {
	var sums []string
	for _, ref := range refs {
		sums = append(sums, e.Digest(ref))
	}
	t := &Table{who: who, digest: digest([]byte(strings.Join(sums, " ")))[:shortDigest]}
	passing := e.GatewayDecider(refs)
	t.compile(e.Project(), naming, set, func(a policy.Action) (policy.Result, Access) {
		r := passing(a)
		return r, accessOf(r.Decision, agentAsks)
	})
	return t
}

// check fails for a server that the inventory does not have.
func (n Naming) check(p *ir.Project) error {
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if p.Server(name) == nil {
			return fmt.Errorf("the inventory has no server %q that could have a namespace", name)
		}
	}
	return nil
}

// Whether an agent in front of the gateway asks by itself.
const (
	noAgent   = false
	agentAsks = true
)

// newTableOf compiles the table of someone who has several roles, as [policy.Engine.Together] decides.
func newTableOf(e *policy.Engine, roles []string, naming Naming, set *pins.Set) (*Table, error) {
	var sums []string
	for _, role := range roles {
		if _, err := e.Subject(ir.SubjectRef{Role: role}); err != nil {
			return nil, err
		}
		sums = append(sums, e.Digest(ir.SubjectRef{Role: role}))
	}
	t := &Table{who: strings.Join(roles, " and "), ref: ir.SubjectRef{Role: strings.Join(roles, ",")},
		digest: digest([]byte(strings.Join(sums, " ")))}
	t.compile(e.Project(), naming, set, func(a policy.Action) (policy.Result, Access) {
		r, _ := e.DecideForRoles(roles, a) // each role compiles
		return r, accessOf(r.Decision, noAgent)
	})
	return t, nil
}

// emptyTable returns a table of a subject that is gone.
func emptyTable(e *policy.Engine, ref ir.SubjectRef) *Table {
	t := &Table{who: ref.String(), ref: ref, digest: "none"}
	t.compile(e.Project(), nil, nil, func(policy.Action) (policy.Result, Access) { return policy.Result{}, Hidden })
	return t
}

// compile fills a table with what is decided about the inventory: of a tool, what a call may do at most, whatever its
// arguments.
func (t *Table) compile(p *ir.Project, naming Naming, set *pins.Set, decide decider) {
	t.project, t.decide, t.names = p, decide, map[string]toolName{}
	if p.ByArgs() {
		t.byArgs = []decider{decide}
	}
	access := func(sv *ir.Server, kind policy.MCPKind, name string) Grant {
		a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: name, Kind: kind, Most: true}
		r, access := decide(a)
		return Grant{access, r}
	}
	for i := range p.Servers {
		sv := &p.Servers[i]
		if sv.Type == ir.External {
			continue // another program starts it
		}
		pinned := set.Server(sv.Name)
		if pinned != nil && !pinned.SameEntry(sv) {
			t.moved = append(t.moved, sv.Name)
			continue
		}
		st := &serverTable{entry: *sv, prefix: ir.GatewayTool(sv.Name, ""), tools: map[string]Grant{}, pins: pinned,
			resources: access(sv, policy.Resource, ""), prompts: access(sv, policy.Prompt, "")}
		if prefix, ok := naming[sv.Name]; ok {
			st.prefix = prefix
		}
		for j := range sv.Tools {
			if g := access(sv, policy.Tool, sv.Tools[j].Name); g.Access > Hidden {
				st.tools[sv.Tools[j].Name] = g
			}
		}
		t.alike = append(t.alike, st.leaveAlike()...)
		if st.used() {
			t.servers = append(t.servers, st)
		}
	}
}

// leaveAlike leaves out the tools of a server that some agents cannot tell apart, such as get and GET.
func (s *serverTable) leaveAlike() (left []toolName) {
	byKey := map[string][]string{}
	for tool := range s.tools {
		key := alikeKey(s.prefix + tool)
		byKey[key] = append(byKey[key], tool)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if slices.Sort(byKey[key]); len(byKey[key]) > 1 {
			for _, tool := range byKey[key] {
				delete(s.tools, tool)
				left = append(left, toolName{s.entry.Name, tool})
			}
		}
	}
	return left
}

// alikeKey returns what some agents make of a name.
func alikeKey(name string) string { return strings.ToLower(policy.AgentName(name)) }

// checkMode fails where a role may not work in a mode.
func checkMode(e *policy.Engine, ref ir.SubjectRef) error {
	if ref.Role == "" || ref.Mode == "" {
		return nil
	}
	s, err := e.Subject(ir.SubjectRef{Role: ref.Role})
	if err != nil {
		return err
	}
	if r := s.Decide(policy.Action{Group: ir.Modes, Arg: ref.Mode}); r.Decision == ir.Deny {
		return fmt.Errorf("role %s may not work in mode %s: %s", ref.Role, ref.Mode, r.Explanation())
	}
	return nil
}

// accessOf returns what a decision means here. What is left to an agent is denied, unless an agent that
// asks is in front.
func accessOf(d ir.Decision, asks bool) Access {
	switch {
	case d == ir.Allow, asks && d > ir.Deny:
		return Passed
	case d == ir.Ask:
		return Asked
	}
	return Hidden
}

// isAsPinned reports whether an item is as it was pinned. Without pins of its server every item is.
func (s *serverTable) isAsPinned(k *kind, it *item) bool {
	return s.pins == nil || k.pin == "" || s.pins.Items[k.pin][it.key].Sum == it.pin.Sum
}

// mayBeAsPinned reports whether there is a pin for the item of a name, or its server has none.
func (s *serverTable) mayBeAsPinned(k *kind, key string) bool {
	if s.pins == nil || k.pin == "" {
		return true
	}
	_, pinned := s.pins.Items[k.pin][key]
	return pinned
}

// used reports whether anything of the server exists for the subject.
func (s *serverTable) used() bool {
	return len(s.tools) > 0 || s.resources.Access > Hidden || s.prompts.Access > Hidden
}

// index gives every tool its name for clients.
func (t *Table) index() error {
	alike := map[string]toolName{} // names that some agents cannot tell apart
	for _, s := range t.servers {
		for _, tool := range slices.Sorted(maps.Keys(s.tools)) {
			name, is := s.prefix+tool, toolName{s.entry.Name, tool}
			if !inventory.Takes(name) {
				return fmt.Errorf("the tool %q of server %q would be called %q, and a name has up to 128 letters, "+
					"digits, \"_\", \"-\" and \".\": give the server another namespace with --namespace %s=PREFIX",
					tool, s.entry.Name, name, s.entry.Name)
			}
			key := alikeKey(name)
			if other, ok := alike[key]; ok {
				return fmt.Errorf("the tool %q of server %q and the tool %q of server %q would both be called %q: "+
					"give one of the servers another namespace with --namespace %s=PREFIX",
					other.tool, other.server, tool, s.entry.Name, name, s.entry.Name)
			}
			alike[key], t.names[name] = is, is
		}
	}
	return nil
}

// Grant decides about an item of a server, by the names that the server and the inventory have. It is the
// one decision of all lists and calls.
func (t *Table) Grant(server string, kind policy.MCPKind, name string) Grant {
	s := t.server(server)
	if s == nil {
		return Grant{}
	}
	switch kind {
	case policy.Tool:
		return s.tools[name]
	case policy.Resource:
		return s.resources
	case policy.Prompt:
		return s.prompts
	}
	return Grant{}
}

// called decides about a call of a tool by its arguments, in each policy that the table is of. Where they decide
// nothing it returns what the tool is granted.
func (t *Table) called(o *offer, args []byte) Grant {
	g := o.grant
	for _, decide := range t.byArgs {
		a := policy.Action{Group: ir.MCP, Server: o.server, Arg: o.key, Args: string(args)}
		if r, access := decide(a); access <= g.Access {
			g = Grant{access, r}
		}
	}
	return g
}

// shortDigest is how many digits the digest of a policy has.
const shortDigest = 16

// inForce returns the digest of the policy, as the audit has it.
func (t *Table) inForce() string { return cmp.Or(t.policy, t.digest) }

func (t *Table) server(name string) *serverTable {
	for _, s := range t.servers {
		if s.entry.Name == name {
			return s
		}
	}
	return nil
}

// Servers returns the servers of which something exists for the subject.
func (t *Table) Servers() (list []*ir.Server) {
	for _, s := range t.servers {
		list = append(list, &s.entry)
	}
	return list
}

// Unlisted returns the servers that the subject may use and whose tools the inventory does not list. The gateway offers
// no tool of them.
func (t *Table) Unlisted() (names []string) {
	for _, s := range t.servers {
		if len(s.entry.Tools) == 0 {
			names = append(names, s.entry.Name)
		}
	}
	return names
}

// narrow returns what both of two tables permit, and in words what only the second one does. A server that
// is started or reached in another way is another server.
func narrow(old, next *Table) (both *Table, wider []string) {
	both = &Table{who: next.who, ref: next.ref, project: next.project, decide: next.decide,
		digest: next.digest, names: map[string]toolName{}, moved: next.moved,
		byArgs: slices.Concat(old.byArgs, next.byArgs)}
	for _, n := range next.servers {
		name := strconv.Quote(n.entry.Name)
		o := old.server(n.entry.Name)
		if o == nil {
			wider = append(wider, "server "+name)
			continue
		}
		if o.prefix != n.prefix || !sameEntry(&o.entry, &n.entry) {
			wider = append(wider, "server "+name+", which is started or reached in another way")
			continue
		}
		s := &serverTable{entry: n.entry, prefix: n.prefix, tools: map[string]Grant{}}
		lower := func(what string, a, b Grant) Grant {
			if b.Access <= a.Access {
				return b
			}
			wider = append(wider, fmt.Sprintf("%s of server %s (%s → %s)", what, name, a.Access, b.Access))
			return a
		}
		s.resources = lower("resources", o.resources, n.resources)
		s.prompts = lower("prompts", o.prompts, n.prompts)
		for _, tool := range slices.Sorted(maps.Keys(n.tools)) {
			if g := lower("tool "+strconv.Quote(tool), o.tools[tool], n.tools[tool]); g.Access > Hidden {
				s.tools[tool] = g
				both.names[s.prefix+tool] = toolName{n.entry.Name, tool}
			}
		}
		var more []string
		s.pins, more = narrowPins(o, n, s)
		wider = append(wider, more...)
		if s.used() {
			both.servers = append(both.servers, s)
		}
	}
	return both, wider
}

// narrowPins returns the pins that hold both before and after a change, and in words what of both is pinned anew.
func narrowPins(old, next, both *serverTable) (pinned *pins.Server, wider []string) {
	server := strconv.Quote(next.entry.Name)
	switch {
	case old.pins == nil:
		return next.pins, nil
	case next.pins == nil:
		return old.pins, []string{"server " + server + ", of which nothing is pinned any more"}
	}
	pinned = old.pins.Meet(next.pins)
	for _, k := range kinds {
		for _, name := range slices.Sorted(maps.Keys(next.pins.Items[k.pin])) {
			access := both.tools[name].Access
			switch k.of {
			case policy.Prompt:
				access = both.prompts.Access
			case policy.Resource:
				access = both.resources.Access
			}
			if _, same := pinned.Items[k.pin][name]; !same && access > Hidden {
				wider = append(wider, fmt.Sprintf("%s %q of server %s, which is pinned anew", k.noun(), name, server))
			}
		}
	}
	return pinned, wider
}

// sameEntry reports whether two entries start or reach the same thing.
func sameEntry(a, b *ir.Server) bool {
	return a.Type == b.Type && a.TimeoutSeconds == b.TimeoutSeconds && reflect.DeepEqual(a.Entry(), b.Entry())
}

func (a Access) String() string { return [...]string{"deny", "ask", "allow"}[a] }

// pinnedOtherwise says what to do about servers whose entry is not the one that was pinned.
func pinnedOtherwise(names []string) string {
	var ids []string
	for _, name := range names {
		ids = append(ids, pins.ID(name, pins.Entry, ""))
	}
	return fmt.Sprintf("%s: not started or reached as when it was pinned, so nothing of it is offered: "+
		"`%s` shows the difference and takes it", diag.Quote(names), pins.Command(ids...))
}

// unlisted says what to do about servers without a list of tools.
func unlisted(names []string) string {
	return fmt.Sprintf("the inventory lists no tool of %s, so none is offered: list them in the source, at `tools`",
		diag.Quote(names))
}

// indistinct says what to do about tools that are left out.
func indistinct(tools []toolName) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.server+":"+t.tool)
	}
	return fmt.Sprintf("%s: some agents cannot tell these tools apart, so they are left out: deny all of them but one",
		diag.Quote(names))
}
